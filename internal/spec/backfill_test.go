package spec

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const backfillHead = "kind: backfill\ndatabase: shop\ntable: orders\n"

func TestThreeLinesAndASetAreACompleteBackfill(t *testing.T) {
	s, err := Parse("s.yaml", []byte(backfillHead+"set: {region: \"'eu'\"}\n"))
	require.NoError(t, err)
	b := s.Backfill
	require.Equal(t, "shop: orders", s.Name)
	require.Equal(t, BackupRows, b.Backup)
	require.Equal(t, 5, b.Passes)
	require.Equal(t, 200*time.Millisecond, b.Chunks.Time.Std())
	require.Equal(t, 24*time.Hour, b.KeepOld.Std())
}

func TestAStatementIsOneTextOrAListAndTravelsAsWritten(t *testing.T) {
	for _, text := range []string{
		"statement: DELETE FROM orders WHERE :range\n",
		"statement: [INSERT INTO old SELECT * FROM orders WHERE :range, 'DELETE FROM orders WHERE :range']\ncheck: {query: SELECT 1, expect: 1}\n",
	} {
		s, err := Parse("s.yaml", []byte(backfillHead+text))
		require.NoError(t, err)
		flat, err := json.Marshal(s)
		require.NoError(t, err)
		var again Spec
		require.NoError(t, json.Unmarshal(flat, &again))
		require.Equal(t, s.Backfill, again.Backfill)
	}
}

func TestWhatABackfillLacksOrHasTwiceIsNamed(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"", `field "set": is missing: give columns and their values, or a statement`},
		{"set: {a: '1'}\nstatement: DELETE FROM x WHERE :range\n", `field "statement": is given in place of set: choose one`},
		{"statement: DELETE FROM x\n", `field "statement": has none of :range, :low and :high: it would be run for all rows, once for every range`},
		{"statement: DELETE FROM x WHERE id > :from\n", `field "statement": :from is not a parameter: there are :range, :range(alias), :low and :high`},
		{"statement: DELETE FROM x WHERE :range\nwhere: a = 1\n", `field "where": goes with set; in a statement it is part of the SQL`},
		{"set: {a: '1'}\nfrom: other\n", `field "on": is missing: the condition that finds a row's partner in from`},
		{"set: {a: '1'}\non: x = y\n", `field "on": finds a row's partner in from, which is missing`},
		{"set: {a: ''}\n", `field "set.a": has no expression`},
		{"set: {a: '1'}\nchunks: {time: 0s}\n", `field "chunks.time": must be longer than 0`},
		{"set: {a: '1'}\ncutover: {undo: x}\n", `field "cutover.undo": takes cutover.sql back, which is missing`},
		{"set: {a: '1'}\nbackup: dump\n", `field "backup": "dump" is not a valid choice; there are rows, none`},
	} {
		_, err := Parse("s.yaml", []byte(backfillHead+c.more))
		require.ErrorContains(t, err, c.want)
	}
}

func TestParametersAreFoundOutsideOfStringsNamesCommentsAndCasts(t *testing.T) {
	pieces, err := Pieces("UPDATE t o SET a = ':low', \":high\" = `:range`, b = :low::bigint, c = '{}'::json -- :range\n/* :high */ WHERE :range(o) AND d = $$:low$$")
	require.NoError(t, err)
	var found []Piece
	for _, p := range pieces {
		if p.Parameter != "" {
			found = append(found, p)
		}
	}
	require.Equal(t, []Piece{{Parameter: LowParameter}, {Parameter: RangeParameter, Alias: "o"}}, found)
}
