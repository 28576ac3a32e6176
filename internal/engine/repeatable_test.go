package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyWhatDependsOnTheRowAloneIsTakenToBeRepeatable(t *testing.T) {
	for _, expr := range []string{
		"balance * 100", "CASE WHEN country IN ('CN','JP') THEN 'apac' ELSE 'eu' END", "concat(lower(`name`), '@', 'select now()')", "region IS NULL",
		"orders.region = 'it''s; -- no comment'", "coalesce(note, \"rand()\")", "created_at < '2020-01-01' AND (a OR (b))", "cast(x AS decimal(10, 2))",
	} {
		require.True(t, pure(MySQLDialect, expr), expr)
	}
	for _, expr := range []string{
		"rand()", "now()", "NOW ()", "uuid()", "current_timestamp", "(SELECT max(id) FROM t)", "@x", "x := 1", "shop.f(a)", "f(a)", "a -- b", "a # b", "a /* b */",
		"lower (rand())", "`x`.f(1)", "sysdate()", "last_insert_id()", "NEXT VALUE FOR s", "shop.lower(a)", "`f`(1)",
	} {
		require.False(t, pure(MySQLDialect, expr), expr)
	}
	one := Assignment{Column: "a", Expr: "a + 1"}
	require.True(t, (&Rewrite{Set: []Assignment{one, {Column: "b", Expr: "aa + b"}}}).Repeatable(MySQLDialect))
	require.False(t, (&Rewrite{Set: []Assignment{one, {Column: "b", Expr: "A + 1"}}}).Repeatable(MySQLDialect), "the server assigns from left to right")
	require.False(t, (&Rewrite{Set: []Assignment{one}, Where: "rand() < 0.5"}).Repeatable(MySQLDialect))
	require.True(t, (&Rewrite{Set: []Assignment{one, {Column: "b", Expr: "a + 1"}}}).Repeatable(PostgresDialect), "all see the row as it was")
}

func TestAQuoteThatABackslashDoesNotEscapeHidesNothingOnPostgreSQL(t *testing.T) {
	require.True(t, pure(PostgresDialect, `a || '\' || lower("b c") || trunc(x)::numeric(12,2)`))
	for _, expr := range []string{`a || '\' || random() || '\'`, `E'\'' || random() || ''`, "$$a$$", "nextval('s')", "a = random()", "\"now\"()"} {
		require.False(t, pure(PostgresDialect, expr), expr)
	}
}
