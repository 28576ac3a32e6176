package spec

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// requireRoundTrip checks that a spec comes back from its JSON form as it was.
func requireRoundTrip(t *testing.T, s *Spec) {
	t.Helper()
	written, err := json.Marshal(s)
	require.NoError(t, err)
	var read Spec
	require.NoError(t, json.Unmarshal(written, &read), string(written))
	again, err := json.Marshal(&read)
	require.NoError(t, err)
	require.Equal(t, string(written), string(again))
}

func TestTheJSONFormIsTheFlatFormOfTheFileWithEveryDefault(t *testing.T) {
	s, err := Parse("short.yaml", readExample(t, "short.yaml"))
	require.NoError(t, err)
	written, err := json.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, `{"kind":"copy","name":"legacy → warehouse","priority":3,`+
		`"timeouts":{"preflight":"10m","cutover":"10m"},`+
		`"retry":{"attempts":3,"rounds":2,"delay":"5s","max_delay":"5m"},`+
		`"verify":{"mode":"checksum","report":100},"on_failure":"hold","on_timeout":"fail",`+
		`"source":"legacy","target":"warehouse","mode":"offline","schema":"create","existing_rows":"fail",`+
		`"shards":{"parallel":4},"cutover":{"mode":"auto","timeout":"30s","source_after":"leave"},"keep_old":"24h"}`, string(written))
}

func TestASpecComesBackFromItsJSONAsItWas(t *testing.T) {
	for _, name := range []string{"short.yaml", "full.yaml"} {
		s, err := Parse(name, readExample(t, name))
		require.NoError(t, err)
		written, err := json.Marshal(s)
		require.NoError(t, err)
		var read Spec
		require.NoError(t, json.Unmarshal(written, &read))
		require.Equal(t, s, &read)
		fromYAML, err := Parse(name, written)
		require.NoError(t, err, "JSON is YAML")
		require.Equal(t, s, fromYAML)
	}
}

func TestAZeroThatIsMeantSurvivesTheJSONForm(t *testing.T) {
	s, err := Parse("s.yaml", []byte(good+"timeouts: {preflight: 0s, cutover: 0s}\nretry: {rounds: 0, delay: 0s, max_delay: 0s}\nkeep_old: 0s\n"))
	require.NoError(t, err)
	written, err := json.Marshal(s)
	require.NoError(t, err)
	var read Spec
	require.NoError(t, json.Unmarshal(written, &read))
	require.Zero(t, read.Timeouts)
	require.Equal(t, Retry{Attempts: 3, Rounds: new(0)}, read.Retry)
	require.Equal(t, new(Duration(0)), read.Copy.KeepOld)
}

func TestAStructInsideAnotherOneUsesTheSameForm(t *testing.T) {
	type payload struct {
		Spec *Spec `json:"spec"`
	}
	s, err := Parse("full.yaml", readExample(t, "full.yaml"))
	require.NoError(t, err)
	written, err := json.Marshal(payload{s})
	require.NoError(t, err)
	var read payload
	require.NoError(t, json.Unmarshal(written, &read))
	require.Equal(t, s, read.Spec)
}

func TestJSONIsReadAsStrictlyAsYAML(t *testing.T) {
	for written, want := range map[string]string{
		`{"kind":"copy","source":"a","target":"b","tabels":[]}`:    `field "tabels": unknown field; did you mean "tables"?`,
		`{"kind":"copy","source":"a","target":"b","mode":"live"}`:  `field "mode": "live" is not supported by this version yet; there is only offline`,
		`{"kind":"copy","source":"a","source":"b","target":"c"}`:   `field "source": given twice`,
		`{"kind":"copy","source":"a","target":"b","priority":9}`:   `field "priority": 9 is out of range: from 1 to 5`,
		`{"kind":"copy","source":"a","target":"b","priority":1e0}`: `field "priority": expected a whole number, got 1e0`,
		`{"kind":"copy","source":"a","target":"b","name":null}`:    `field "name": has no value: give it one or leave it out`,
		`{"kind":"copy","source":null,"target":"b"}`:               `field "source": has no value: give it one or leave it out`,
		`["copy"]`:                       `expected fields like "name: value", got a list`,
		`{"kind":"pipeline","name":"a"}`: `field "steps": is missing`,
	} {
		var s Spec
		require.EqualError(t, json.Unmarshal([]byte(written), &s), want, written)
		require.Zero(t, s)
	}
}

func TestATableEntryIsReadInEitherForm(t *testing.T) {
	var tables []TableSpec
	require.NoError(t, json.Unmarshal([]byte(`["shop.*", {"name": "shop.a", "where": "id > 1"}]`), &tables))
	require.Equal(t, []TableSpec{{Name: "shop.*"}, {Name: "shop.a", Where: "id > 1"}}, tables)
	require.ErrorContains(t, json.Unmarshal([]byte(`[{"nam": "shop.a"}]`), &tables), `field "nam": unknown field; did you mean "name"?`)
}

func TestASpecWithoutThePartOfItsKindIsNotWritten(t *testing.T) {
	_, err := json.Marshal(&Spec{Common: Common{Kind: task.Copy}})
	require.ErrorContains(t, err, "a spec of kind copy without its part")
	_, err = json.Marshal(&Spec{Common: Common{Kind: "cpoy"}})
	require.ErrorContains(t, err, `kind "cpoy" is not a kind of migration; did you mean "copy"?`)
}

func TestADurationIsWrittenAsPeopleWriteIt(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "5s": 5 * time.Second, "10m": 10 * time.Minute, "24h": 24 * time.Hour, "1h30m": 90 * time.Minute,
		"1h0m1s": time.Hour + time.Second, "1m40s": 100 * time.Second, "250ms": 250 * time.Millisecond, "100h": 100 * time.Hour,
	} {
		require.Equal(t, text, Duration(want).String())
		read, err := ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, read.Std())
	}
	for text, want := range map[string]time.Duration{
		"7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "0": 0, "90s": 90 * time.Second, "1.5h": 90 * time.Minute,
	} {
		read, err := ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, read.Std())
	}
	for _, text := range []string{"", "d", "5", "-5s", "-1d", "1d-5s", "1h2d", "1d1d", "1 h", "five", "65535d2562047h", "99999d", "1w"} {
		_, err := ParseDuration(text)
		require.EqualError(t, err, `"`+text+`" is not a duration: write it like 30s, 5m, 12h or 7d`)
	}
}
