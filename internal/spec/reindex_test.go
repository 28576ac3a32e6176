package spec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const reindexHead = "kind: reindex\ndatabase: shop\n"

func TestThreeLinesAreACompleteIndexRebuild(t *testing.T) {
	s, err := Parse("s.yaml", []byte(reindexHead+"table: orders\n"))
	require.NoError(t, err)
	r := s.Reindex
	require.Equal(t, "shop: orders", s.Name)
	require.Equal(t, 1, r.Shards.Parallel)
	require.Equal(t, 150, r.Critical.Percent)
	require.Equal(t, 30*time.Second, r.Critical.After.Std())
	require.Nil(t, r.Bloat, "all indexes are worth it unless somebody says otherwise")
	requireRoundTrip(t, s)
}

func TestIndexesAreNamedByOneNameOrAList(t *testing.T) {
	s, err := Parse("s.yaml", []byte(reindexHead+"table: orders\nindex: a\ndrop: [b, c]\ncreate: CREATE INDEX d ON orders (e)\nkeep_old: 0s\nbuild: {workers: 0, memory: 64MiB}\n"))
	require.NoError(t, err)
	require.Equal(t, Names{"a"}, s.Reindex.Index)
	require.Equal(t, Names{"b", "c"}, s.Reindex.Drop)
	require.Zero(t, *s.Reindex.KeepOld)
	require.Zero(t, *s.Reindex.Build.Workers, "none is not the same as not said")
	requireRoundTrip(t, s)
}

func TestALimitOfBloatHasDefaults(t *testing.T) {
	s, err := Parse("s.yaml", []byte(reindexHead+"schema: public\nbloat: {}\n"))
	require.NoError(t, err)
	require.Equal(t, &Bloat{Percent: 30, Size: 1 << 20}, s.Reindex.Bloat)
	requireRoundTrip(t, s)
}

func TestWhatAnIndexRebuildLacksIsNamed(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"", `field "table": is missing: give a table, a schema, or an index to create`},
		{"table: orders\nschema: public\n", `field "schema": is given in place of table: choose one`},
		{"schema: a.b\n", `field "schema": "a.b" is not a schema's name`},
		{"table: orders\nindex: [a, '']\n", `field "index[1]": is empty`},
		{"table: orders\nindex: a\nbloat: {}\n", `field "bloat": picks from all indexes of a table or a schema: leave index out`},
		{"table: orders\ndrop: a\nbloat: {}\n", `field "bloat": picks which indexes are rebuilt, and none is where indexes are created or dropped`},
		{"table: orders\nbuild: {lock_timeout: 0s}\n", `field "build.lock_timeout": must be longer than 0`},
		{"table: orders\nbuild: {memory: 1kB}\n", `field "build.memory": must be 1MiB or more`},
		{"table: orders\ncritical: {percent: 90}\n", `field "critical.percent": 90 is out of range`},
		{"table: orders\nbuild: {workers: -1}\n", `field "build.workers": -1 is out of range`},
	} {
		_, err := Parse("s.yaml", []byte(reindexHead+c.more))
		require.ErrorContains(t, err, c.want)
	}
}
