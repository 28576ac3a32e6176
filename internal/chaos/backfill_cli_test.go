package chaos

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// backfills runs the verb backfill with a database, a table and an id.
func (g *ground) backfills(id string, flags ...string) answer {
	g.t.Helper()
	return g.godwit(append([]string{"backfill", "--database", g.connection(), "--table", "orders", "--id", id}, flags...)...)
}

// TestABackfillTellsItsEndByItsExitCodeAndAsJSON starts one for each way to end.
func TestABackfillTellsItsEndByItsExitCodeAndAsJSON(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 5000, func(g *ground) {
		g.exec("ALTER TABLE orders ADD small smallint", "ALTER TABLE orders_before ADD small smallint")
		g.worker()
		overflow := []string{"--set", "small=CASE WHEN id = 4000 THEN 99999 ELSE 1 END"}
		for i, end := range []struct {
			code  int
			state task.State
			flags []string
		}{
			{0, task.Success, []string{"--set", "region='eu'", "--where", "region IS NULL", "--keep-old", "0s"}},
			{3, task.Failed, overflow},
			{6, task.RolledBack, append([]string{"--on-failure", "rollback"}, overflow...)},
			{4, task.TimedOut, []string{"--set", "balance=balance * 100", "--rows-per-second", "100", "--limit", "3s"}},
		} {
			id := fmt.Sprintf("%s-%d", g.name, i)
			a := g.backfills(id, append(end.flags, "--wait", "-o", "json")...)
			require.Equal(g.t, end.code, a.code, "%s%s", a.out, a.err)
			var st task.Status
			require.NoError(g.t, json.Unmarshal([]byte(a.out), &st), a.out)
			require.Equal(g.t, id, st.ID)
			require.Equal(g.t, end.state, st.State)
			require.Equal(g.t, task.Backfill, st.Kind)
			if end.code == 3 {
				require.Contains(g.t, st.Error.Message, "id=4000", "the row is named")
				require.Contains(g.t, st.Can, "retry")
				g.exec("DELETE FROM orders WHERE id = 4000")
				g.must("retry", id, "--wait")
				require.EqualValues(g.t, 4999, g.number("SELECT count(*) FROM orders WHERE small = 1"))
				require.Contains(g.t, g.must("status", id).out, "SUCCESS")
				g.must("rollback", id, "--wait")
				g.exec("INSERT INTO orders SELECT * FROM orders_before WHERE id = 4000", "UPDATE orders SET region = 'eu' WHERE id = 4000")
			}
			if end.code == 4 {
				g.must("rollback", id, "--wait")
			}
		}
		g.became(map[string]string{"region": "'eu'"})
	})
}

func TestAPlanOfABackfillShowsItsStatementsAndChangesNothing(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 5000, func(g *ground) {
		definition := g.definition()
		g.worker()
		file := g.spec(regionSet, regionNull, "shards: {rows: 1000}")
		var plan task.Plan
		g.read(&plan, "plan", file)
		require.Equal(g.t, task.Backfill, plan.Kind)
		require.Len(g.t, plan.Tables, 1)
		require.Contains(g.t, plan.Tables[0].Source, "orders")
		require.InDelta(g.t, 5, plan.Shards, 1)
		statements := strings.Join(plan.Statements, "\n")
		for _, part := range []string{"CREATE TABLE", "INSERT INTO", "UPDATE", "DROP TABLE", "region IS NULL"} {
			require.Contains(g.t, statements, part)
		}
		text := g.must("plan", file).out
		require.Contains(g.t, text, "orders")
		require.Contains(g.t, text, "region")
		refused := g.godwit("plan", g.spec("set: {regoin: country}"))
		require.NotZero(g.t, refused.code)
		require.Contains(g.t, refused.err, "did you mean")
		g.became(nil)
		require.Equal(g.t, definition, g.definition())
		require.Empty(g.t, g.savedTables())
	})
}
