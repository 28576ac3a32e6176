package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACreateIndexIsCutIntoItsParts(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		text    string
		want    IndexStatement
	}{
		{PostgresDialect, `create UNIQUE index Concurrently My_Index ON "Shop".Orders USING gin (a) WHERE x > 1;`,
			IndexStatement{Kind: "UNIQUE", Name: "my_index", Table: Name{Schema: "Shop", Table: "orders"}, Rest: "USING gin (a) WHERE x > 1"}},
		{PostgresDialect, "CREATE INDEX a ON b /* why */ (c)", IndexStatement{Name: "a", Table: Name{Table: "b"}, Rest: "(c)"}},
		{MySQLDialect, "CREATE FULLTEXT INDEX `o``dd` USING BTREE ON shop.Orders (Note(10)) COMMENT 'ALGORITHM'",
			IndexStatement{Kind: "FULLTEXT", Name: "o`dd", Table: Name{Schema: "shop", Table: "Orders"}, Using: "USING BTREE", Rest: "(Note(10)) COMMENT 'ALGORITHM'"}},
	} {
		read, err := ReadIndexStatement(c.text, c.dialect)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, *read)
	}
}

func TestWhatIsNoCreateIndexOfOneTableIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"DROP INDEX a":                              "it is no CREATE INDEX statement",
		"CREATE OR REPLACE INDEX a ON b (c)":        "it is no CREATE INDEX statement",
		"CREATE INDEX IF NOT EXISTS a ON b (c)":     "leave it out",
		"CREATE INDEX ON b (c)":                     "the index has no name",
		"CREATE INDEX a ON ONLY b (c)":              "leave ONLY out",
		"CREATE INDEX a b (c)":                      "there is no ON",
		"CREATE INDEX a ON b":                       "of which columns",
		"CREATE INDEX a ON b (c); DROP TABLE b":     "a semicolon",
		"CREATE INDEX a ON b (c) LOCK=NONE":         "LOCK is for Godwit to say",
		"CREATE INDEX a ON b (c":                    "a parenthesis is not closed",
		"CREATE INDEX a ON 'b' (c)":                 "where a name should be",
		"CREATE INDEX a ON b (c) ALGORITHM INPLACE": "ALGORITHM is for Godwit to say",
	} {
		_, err := ReadIndexStatement(text, PostgresDialect)
		require.ErrorContains(t, err, want, text)
	}
}
