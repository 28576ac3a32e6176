package chaos

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

const facts = `
	CREATE TABLE facts (id int NOT NULL PRIMARY KEY, n bigint NOT NULL, t varchar(40) NOT NULL, o varchar(40), b varbinary(8) NOT NULL,
		d datetime(6) NOT NULL, m decimal(12,2) NOT NULL);
	INSERT INTO facts SELECT seq, seq * 1000, CONCAT('Text ', seq), IF(seq MOD 2, CONCAT('o', seq), NULL), UNHEX(LPAD(HEX(seq), 16, '0')),
		TIMESTAMPADD(MICROSECOND, seq, '2020-01-01'), seq / 4 FROM seq_1_to_5000;
	UPDATE facts SET o = '' WHERE id = 71;
	CREATE TABLE words (word varchar(40) NOT NULL PRIMARY KEY, n int) COLLATE utf8mb4_general_ci;
	INSERT INTO words SELECT CONCAT('wörd ', seq), seq FROM seq_1_to_3000;
	CREATE TABLE keyless (n int, t text);
	INSERT INTO keyless SELECT seq MOD 100, CONCAT('t', seq MOD 7) FROM seq_1_to_1000;
	ANALYZE TABLE facts, words, keyless`

// planted is a difference: how it comes about and goes away, and what is to be
// said of it (nothing of values where a row is missing on one side).
var planted = []struct {
	name, plant, mend     string
	table, key, what      string
	column, source, there string
}{
	{"one bit of a number", "UPDATE facts SET n = n # 1 WHERE id = 10", "UPDATE facts SET n = n # 1 WHERE id = 10", "public.facts", "10", "different", "n", "10000", "10001"},
	{"a missing row", "DELETE FROM facts WHERE id = 20", "INSERT INTO facts VALUES (20, 20000, 'Text 20', NULL, '\\x0000000000000014', '2020-01-01 00:00:00.000020', 5)", "public.facts", "20", "missing", "", "", ""},
	{"an extra row", "INSERT INTO facts SELECT 999999, n, t, o, b, d, m FROM facts WHERE id = 5", "DELETE FROM facts WHERE id = 999999", "public.facts", "999999", "extra", "", "", ""},
	{"swapped values", "UPDATE facts SET t = 'Text ' || 61 - id WHERE id IN (30, 31)", "UPDATE facts SET t = 'Text ' || id WHERE id IN (30, 31)", "public.facts", "30", "different", "t", "Text 30", "Text 31"},
	{"a trailing blank", "UPDATE facts SET t = t || ' ' WHERE id = 40", "UPDATE facts SET t = rtrim(t) WHERE id = 40", "public.facts", "40", "different", "t", "Text 40", "Text 40 "},
	{"case only", "UPDATE facts SET t = lower(t) WHERE id = 50", "UPDATE facts SET t = 'Text 50' WHERE id = 50", "public.facts", "50", "different", "t", "Text 50", "text 50"},
	{"empty instead of NULL", "UPDATE facts SET o = '' WHERE id = 60", "UPDATE facts SET o = NULL WHERE id = 60", "public.facts", "60", "different", "o", "NULL", ""},
	{"NULL instead of empty", "UPDATE facts SET o = NULL WHERE id = 71", "UPDATE facts SET o = '' WHERE id = 71", "public.facts", "71", "different", "o", "", "NULL"},
	{"a microsecond", "UPDATE facts SET d = d + interval '1 microsecond' WHERE id = 80", "UPDATE facts SET d = d - interval '1 microsecond' WHERE id = 80", "public.facts", "80", "different", "d", "2020-01-01 00:00:00.000080", "2020-01-01 00:00:00.000081"},
	{"one bit of a byte", "UPDATE facts SET b = set_bit(b, 0, 1) WHERE id = 90", "UPDATE facts SET b = set_bit(b, 0, 0) WHERE id = 90", "public.facts", "90", "different", "b", "000000000000005a", "010000000000005a"},
	{"a cent", "UPDATE facts SET m = m + 0.01 WHERE id = 100", "UPDATE facts SET m = m - 0.01 WHERE id = 100", "public.facts", "100", "different", "m", "25.00", "25.01"},
	{"a value by a text key", "UPDATE words SET n = 0 WHERE word = 'wörd 77'", "UPDATE words SET n = 77 WHERE word = 'wörd 77'", "public.words", "wörd 77", "different", "n", "77", "0"},
	{"case of a text key", "UPDATE words SET word = 'WÖRD 78' WHERE word = 'wörd 78'", "UPDATE words SET word = 'wörd 78' WHERE n = 78", "public.words", "wörd 78", "missing", "", "", ""},
	{"a row without a key", "DELETE FROM keyless WHERE ctid = (SELECT min(ctid) FROM keyless WHERE n = 3 AND t = 't3')", "INSERT INTO keyless VALUES (3, 't3')", "public.keyless", "", "missing", "", "", ""},
}

// TestVerificationFindsWhatWasPlanted changes the target between the copy and
// the comparison, and mends it after it.
func TestVerificationFindsWhatWasPlanted(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t)).ownSource(facts)
	g := newGate(t)
	s.worker(g.at("verify begins"))
	m := s.start("tables: [facts, words, keyless]", "shards: {rows: 1000, parallel: 2}")
	g.reached()
	for _, p := range planted {
		s.onTarget(p.plant)
	}
	g.open()
	a := m.wait()
	require.Equal(t, 3, a.code, a.out)
	st := m.status()
	require.Equal(t, task.Mismatch, st.Error.Class)
	require.Contains(t, st.Error.Message, "public.facts, row 10: different n (source 10000, target 10001)")
	require.NotNil(t, st.Verified)
	require.Positive(t, st.Verified.Different)

	found := m.differences()
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) { requireFound(t, found, p.table, p.key, p.what, p.column, p.source, p.there) })
	}
	// 14 were planted: the swap is of two rows, and a changed key is one missing and one extra.
	require.Len(t, found, len(planted)+2, "%v", found)

	for _, p := range planted {
		s.onTarget(p.mend)
	}
	m.must("retry", m.id)
	m.succeeds()
	s.arrived("facts", "words", "keyless")
}

// differences are those that the ledger's events list.
func (m *migration) differences() []task.Difference {
	m.t.Helper()
	var found []task.Difference
	for _, e := range m.events() {
		if e.What != "row differs" {
			continue
		}
		var d task.Difference
		require.NoError(m.t, json.Unmarshal([]byte(e.Detail), &d))
		found = append(found, d)
	}
	return found
}

func requireFound(t *testing.T, found []task.Difference, table, key, what, column, source, target string) {
	t.Helper()
	var near []string
	for _, d := range found {
		if d.Table != table {
			continue
		}
		near = append(near, fmt.Sprintf("%+v", d))
		if key != "" && strings.Trim(d.Key, "'") != key || what != "" && d.What != what {
			continue
		}
		if column == "" {
			return
		}
		if len(d.Columns) == 1 && d.Columns[0].Column == column && shows(d.Columns[0].Source, source) && shows(d.Columns[0].Target, target) {
			return
		}
	}
	require.Fail(t, "not found", "%s %s %s %s %q %q among:\n%s", table, key, what, column, source, target, strings.Join(near, "\n"))
}

// shows tells whether a value is shown as it is, in quotes or not.
func shows(shown, value string) bool {
	return strings.Trim(strings.TrimPrefix(strings.TrimPrefix(shown, `\x`), "0x"), `"'`) == value
}

func TestAChangeOfTheSourceDuringTheCopyIsFound(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t)).ownSource(facts)
	g := newGate(t)
	s.worker(g.at("after commit"))
	m := s.start("tables: [facts]", "shards: {rows: 5000, parallel: 1}", "throttle: {rows_per_second: 1000}")
	g.reached()
	s.onSource("UPDATE facts SET n = -1 WHERE id = 1; DELETE FROM facts WHERE id = 2; INSERT INTO facts SELECT 0, n, t, o, b, d, m FROM facts WHERE id = 3")
	g.open()
	m.must("throttle", m.id, "--rows-per-second", "0")
	a := m.wait()
	require.Equal(t, 3, a.code, a.out)
	require.Equal(t, task.Mismatch, m.status().Error.Class)
	found := m.differences()
	require.Len(t, found, 3)
	requireFound(t, found, "public.facts", "1", "different", "n", "-1", "1000")
	requireFound(t, found, "public.facts", "2", "extra", "", "", "")
	requireFound(t, found, "public.facts", "0", "missing", "", "", "")
}
