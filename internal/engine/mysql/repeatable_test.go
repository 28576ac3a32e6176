package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

func TestOnlyWhatDependsOnTheRowAloneIsTakenToBeRepeatable(t *testing.T) {
	for _, expr := range []string{
		"balance * 100", "CASE WHEN country IN ('CN','JP') THEN 'apac' ELSE 'eu' END", "concat(lower(`name`), '@', 'select now()')", "region IS NULL",
		"orders.region = 'it''s; -- no comment'", "coalesce(note, \"rand()\")", "created_at < '2020-01-01' AND (a OR (b))", "cast(x AS decimal(10, 2))",
	} {
		require.True(t, pure(expr), expr)
	}
	for _, expr := range []string{
		"rand()", "now()", "NOW ()", "uuid()", "current_timestamp", "(SELECT max(id) FROM t)", "@x", "x := 1", "shop.f(a)", "f(a)", "a -- b", "a # b", "a /* b */",
		"lower (rand())", "`x`.f(1)", "sysdate()", "last_insert_id()", "NEXT VALUE FOR s", "shop.lower(a)",
	} {
		require.False(t, pure(expr), expr)
	}
	one := engine.Assignment{Column: "a", Expr: "a + 1"}
	require.True(t, repeatable(&engine.Rewrite{Set: []engine.Assignment{one, {Column: "b", Expr: "aa + b"}}}))
	require.False(t, repeatable(&engine.Rewrite{Set: []engine.Assignment{one, {Column: "b", Expr: "A + 1"}}}), "the server assigns from left to right")
	require.False(t, repeatable(&engine.Rewrite{Set: []engine.Assignment{one}, Where: "rand() < 0.5"}))
}
