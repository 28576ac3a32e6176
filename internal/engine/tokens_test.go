package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// texts are the actions of an ALTER as they are written.
func texts(t *testing.T, alter string, dialect Dialect) []string {
	t.Helper()
	tokens, err := Tokens(alter, dialect)
	require.NoError(t, err)
	var list []string
	for _, a := range Actions(tokens) {
		list = append(list, alter[a[0].Start:a[len(a)-1].End])
	}
	return list
}

func TestAnAlterIsSplitAtTheCommasBetweenItsActions(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		alter   string
		want    []string
	}{
		{PostgresDialect, "ADD a numeric(12,2), DROP b", []string{"ADD a numeric(12,2)", "DROP b"}},
		{PostgresDialect, `ADD "a,b" text DEFAULT 'x,''y', ALTER c SET DEFAULT $q$,'$q$`, []string{`ADD "a,b" text DEFAULT 'x,''y'`, "ALTER c SET DEFAULT $q$,'$q$"}},
		{PostgresDialect, `ADD a text DEFAULT E'\',', ADD b text DEFAULT '\'`, []string{`ADD a text DEFAULT E'\','`, `ADD b text DEFAULT '\'`}},
		{PostgresDialect, "ADD a int[] DEFAULT ARRAY[1,2] -- one, two\n, /* , */ DROP b", []string{"ADD a int[] DEFAULT ARRAY[1,2]", "DROP b"}},
		{PostgresDialect, "ADD CHECK (a IN (1,2)), ADD b int", []string{"ADD CHECK (a IN (1,2))", "ADD b int"}},
		{MySQLDialect, "ADD `a,``b` varchar(9) DEFAULT '\\',', DROP c # , d\n, DROP e", []string{"ADD `a,``b` varchar(9) DEFAULT '\\','", "DROP c", "DROP e"}},
		{MySQLDialect, `ADD a varchar(9) DEFAULT ",", DROP c`, []string{`ADD a varchar(9) DEFAULT ","`, "DROP c"}},
	} {
		require.Equal(t, c.want, texts(t, c.alter, c.dialect), c.alter)
	}
}

func TestWhatIsNoPartOfOneAlterTableIsRefused(t *testing.T) {
	for _, alter := range []string{"ADD a int; DROP TABLE x", "ADD a int DEFAULT (1", "ADD a int)", "ADD a text DEFAULT 'x", "ADD a int /* b", "ADD a text DEFAULT $$x"} {
		_, err := Tokens(alter, PostgresDialect)
		require.Error(t, err, alter)
	}
	_, err := Tokens("ADD a int /*! , DROP b */", MySQLDialect)
	require.ErrorContains(t, err, "a comment that the server executes")
}

func TestAQuotedNameIsReadWithoutItsQuotes(t *testing.T) {
	tokens, err := Tokens(`ALTER "a ""b" SET NOT NULL`, PostgresDialect)
	require.NoError(t, err)
	require.Equal(t, `a "b`, tokens[1].Text)
	require.True(t, tokens[2].Is("set"))
	require.False(t, tokens[1].Is(`a "b`))
}
