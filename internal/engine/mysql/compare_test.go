package mysql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// comparedParts compares the parts of a table on both sides of a bound, and
// lists what differs.
func (s *testServer) comparedParts(t testing.TB, r *engine.Reshaping, bound engine.Key) (parts []engine.Compared, listed []engine.Disagreement) {
	t.Helper()
	for _, within := range []engine.Range{{Until: bound}, {After: bound}} {
		found, err := s.Compare(t.Context(), s.Server, r, engine.Part{Within: within}, nil)
		require.NoError(t, err)
		parts = append(parts, found)
		list, err := s.Disagreements(t.Context(), s.Server, r, engine.Part{Within: within}, nil, 5)
		require.NoError(t, err)
		listed = append(listed, list...)
	}
	return parts, listed
}

func wordKey(text string) engine.Key { return engine.Key{{Kind: engine.TextKey, Value: text}} }

// keysInAnotherOrder are alterations by which keys are ordered, or compared, in
// another way: a table, its rows, the ALTER, a bound, and an extra copy.
var keysInAnotherOrder = []struct{ name, table, rows, alter, bound, extra string }{
	{"the same order", "word varchar(20) COLLATE utf8mb4_bin", "('Word', 1), ('other', 2), ('_x', 3), ('Zebra', 4)", "MODIFY n bigint", "Zebra", "'extra', 0"},
	{"another collation", "word varchar(20) COLLATE utf8mb4_bin", "('Word', 1), ('other', 2), ('_x', 3), ('Zebra', 4)", "MODIFY word varchar(20) COLLATE utf8mb4_general_ci", "Zebra", "'extra', 0"},
	{"a finer collation", "word varchar(20) COLLATE utf8mb4_general_ci", "('Word', 1), ('other', 2), ('_x', 3), ('Zebra', 4)", "MODIFY word varchar(20) COLLATE utf8mb4_bin", "other", "'WORD', 0"},
	{"another charset", "word varchar(20) CHARACTER SET latin1", "('Wört', 1), ('other', 2), ('_x', 3), ('Zebra', 4)", "MODIFY word varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "other", "'\u20ac', 0"},
	{"an enum in another order", "word enum('a','b','c','d')", "('a', 1), ('b', 2), ('c', 3)", "MODIFY word enum('d','c','x','b','a')", "b", "'x', 0"},
	{"an enum without one of its members", "word enum('a','b','c','d')", "('a', 1), ('b', 2), ('d', 3)", "MODIFY word enum('d','x','b','a')", "b", "'x', 0"},
}

func TestPartsOfATableAreComparedAlsoWhereTheOrderOfTheKeyChanges(t *testing.T) {
	for _, c := range keysInAnotherOrder {
		t.Run(c.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *testServer) {
				s.exec(t, "CREATE TABLE words ("+c.table+" NOT NULL PRIMARY KEY, n int)", "INSERT INTO words VALUES "+c.rows)
				r := s.copied(t, "words", c.alter+", ENGINE=InnoDB", nil)
				parts, listed := s.comparedParts(t, r, wordKey(c.bound))
				require.Empty(t, listed)
				for _, found := range parts {
					require.True(t, found.Same(), "%+v", parts)
					require.NotZero(t, found.Rows)
				}
				s.exec(t, "INSERT INTO words__gw_new (word, n) VALUES ("+c.extra+")")
				parts, listed = s.comparedParts(t, r, wordKey(c.bound))
				require.Equal(t, parts[0].Rows+parts[1].Rows+1, parts[0].Copies+parts[1].Copies)
				require.Len(t, listed, 1)
				require.Equal(t, "extra", listed[0].What)
				require.Equal(t, c.extra, "'"+listed[0].Key[0].Value+"', 0")
			})
		})
	}
}

func TestACopyIsRemovedByTheBytesOfItsKeyWhereTheKeyIsComparedInAnotherWay(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE words (word varchar(20) COLLATE utf8mb4_bin NOT NULL, n int NOT NULL, PRIMARY KEY (word, n))", "INSERT INTO words VALUES ('a', 1), ('b', 1)")
		r := s.copied(t, "words", "MODIFY word varchar(20) COLLATE utf8mb4_general_ci NOT NULL", nil)
		for key, left := range map[string]string{"A": "2", "a": "1"} {
			remove, err := s.RemoveKeys(r.Forward, []engine.Key{append(wordKey(key), engine.KeyValue{Kind: engine.NumberKey, Value: "1"})})
			require.NoError(t, err)
			tx, err := s.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), remove)
			require.NoError(t, err, remove)
			var count string
			require.NoError(t, readRow(t.Context(), tx, "SELECT count(*) FROM words__gw_new", &count))
			require.Equal(t, left, count, key)
			require.NoError(t, tx.Rollback(t.Context()))
		}
	})
}

func TestARowWithTwoCopiesIsFound(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE items (id int NOT NULL PRIMARY KEY, tenant int NOT NULL, n int)", "INSERT INTO items VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3)")
		r := s.copied(t, "items", "DROP PRIMARY KEY, ADD PRIMARY KEY (id, tenant)", nil)
		s.sameCopy(t, r, 3)
		for _, n := range []int{2, 7} { // as the row is, and otherwise
			s.exec(t, fmt.Sprintf("REPLACE INTO items__gw_new VALUES (2, 9, %d)", n))
			for _, part := range []engine.Part{{}, {Keys: []engine.Key{{{Kind: engine.NumberKey, Value: "2"}}}}} {
				found, err := s.Compare(t.Context(), s.Server, r, part, nil)
				require.NoError(t, err)
				require.False(t, found.Same(), "%+v", found)
				list, err := s.Disagreements(t.Context(), s.Server, r, part, nil, 5)
				require.NoError(t, err)
				require.NotEmpty(t, list)
				require.Equal(t, engine.Disagreement{Key: engine.Key{{Kind: engine.NumberKey, Value: "2"}}, What: "extra"}, list[len(list)-1])
			}
		}
	})
}
