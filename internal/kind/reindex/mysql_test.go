package reindex

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

func TestWhatMySQLCannotBuildBesideTheWritersIsRefusedByNameOrLeftOut(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(10)
		r.exec("CREATE FULLTEXT INDEX orders_words ON orders (note)", "CREATE TABLE notes (id int PRIMARY KEY) ENGINE = MyISAM")
		before := r.indexes()
		for _, c := range []struct{ lines, want string }{
			{"table: nothing\n", "no such table"},
			{"schema: nothing\n", "there is no table in database nothing"},
			{"table: orders\nindex: orders_customr\n", "there is no index orders_customr of " + r.table("orders") + "; there are PRIMARY, orders_customer"},
			{"table: orders\nindex: orders_words\n", "the server does not do that beside the writers"},
			{"table: orders\ndrop: PRIMARY\n", "is the table itself"},
			{"schema: " + r.schema + "\ndrop: orders_note\n", "drop: of which table?"},
			{"table: notes\n", "is stored by MyISAM"},
			{"table: orders\nbloat: {}\n", "do not tell how much of an index is wasted"},
			{"create: CREATE INDEX orders_customer ON orders (id)\n", "there is an index orders_customer of " + r.table("orders") + " already"},
			{"create: CREATE INDEX a ON orders (nothing)\n", "Key column 'nothing' doesn't exist"},
			{"create: CREATE INDEX a ON orders (id) ALGORITHM=COPY\n", "ALGORITHM is for Godwit to say"},
			{"table: orders\nstrategy: inplace\nthrottle: {rows_per_second: 5}\n", "rows_per_second and bytes_per_second cannot be kept"},
			{"schema: " + r.schema + "\nstrategy: shadow\n", "give table, and no index"},
		} {
			_, err := r.job("refused", c.lines).preflight()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Config, fault.Of(err).Class, err.Error())
		}
		plan, err := r.job("p", "schema: "+r.schema+"\n").plan()
		require.NoError(t, err)
		require.Equal(t, 2, plan.Shards)
		notes := strings.Join(plan.Warnings, "\n")
		require.Contains(t, notes, "orders_words of "+r.table("orders")+" is left out: the server builds a fulltext index only with the writers kept out")
		require.Contains(t, notes, "the primary key of "+r.table("orders")+" is left out, since it is the table itself")
		require.Contains(t, notes, "is stored by MyISAM")
		require.Equal(t, before, r.indexes())
		require.Empty(t, r.texts("SHOW TABLES LIKE '\\_godwit\\_try%'"))
	})
}

func TestAPrimaryKeyIsBuiltAnewWithItsTable(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		before, number := r.indexes(), r.number("PRIMARY")
		r.job("primary", "table: orders\nindex: PRIMARY\n").all()
		require.Equal(t, before, r.indexes())
		require.NotEqual(t, number, r.number("PRIMARY"))
	})
}

func TestAnIndexThatAForeignKeyNeedsIsBuiltAnew(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("CREATE TABLE lines_of (id int PRIMARY KEY, order_id bigint NOT NULL, KEY by_order (order_id), CONSTRAINT belongs FOREIGN KEY (order_id) REFERENCES orders (id))",
			"INSERT INTO lines_of VALUES (1, 1), (2, 2)")
		before := r.indexes()
		r.job("foreign", "table: lines_of\n").all()
		require.Equal(t, before, r.indexes())
		_, err := r.sql.Exec("INSERT INTO lines_of VALUES (3, 4711)")
		require.Error(t, err, "the foreign key is there")
	})
}

func TestTheFormOfAnIndexIsKeptToTheLetter(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("ALTER TABLE orders ADD UNIQUE KEY `o``dd, (name)` (note(7), customer DESC, id) COMMENT 'it''s, odd'")
		text := r.definition()
		r.job("letter", "table: orders\n").all()
		require.ElementsMatch(t, strings.Split(text, "\n"), strings.Split(r.definition(), "\n"))
	})
}

// definition is the table's as the server writes it, each line without its comma.
func (r *rig) definition() string {
	r.t.Helper()
	var name, text string
	require.NoError(r.t, r.sql.QueryRow("SHOW CREATE TABLE orders").Scan(&name, &text))
	return strings.ReplaceAll(text, ",\n", "\n")
}

func TestAnIndexThatAnEarlierRebuildHasLeftIsRemoved(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(100)
		before := r.indexes()
		r.exec("CREATE INDEX orders_customer__gw_new ON orders (customer)", "CREATE INDEX orders_customer__gw_old ON orders (customer)")
		j := r.job("left", "table: orders\n")
		j.all()
		require.Equal(t, before, r.indexes())
		require.Equal(t, []string{"orders_customer__gw_new, orders_customer__gw_old"}, j.events("leftover removed"))
	})
}

// TestAStepThatWasDoneUnheardIsNotDoneAgain has each step done by the server, and
// the worker gone before it was noted.
func TestAStepThatWasDoneUnheardIsNotDoneAgain(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(100)
		before, number := r.indexes(), r.number("orders_customer")
		j := r.job("unheard", "table: orders\nindex: orders_customer\n")
		j.begin()
		items, err := load(context.Background(), j.run(task.Transform))
		require.NoError(t, err)
		w := &items[0].IndexWork
		conn, err := r.sql.Conn(context.Background())
		require.NoError(t, err)
		defer conn.Close() //nolint:errcheck // says only that it is closed already
		for i, step := range w.Steps {
			stand, err := r.db.LookIndex(context.Background(), w, i+1, "")
			require.NoError(t, err)
			require.Equal(t, i, stand.Done)
			for _, statement := range step.SQL {
				_, err := conn.ExecContext(context.Background(), statement)
				require.NoError(t, err, statement)
			}
			stand, err = r.db.LookIndex(context.Background(), w, i+1, "")
			require.NoError(t, err)
			require.Equal(t, i+1, stand.Done)
		}
		require.Equal(t, before, r.indexes())
		require.NotEqual(t, number, r.number("orders_customer"))
	})
}

// TestARollbackGivesAnIndexItsNameBack is about a session that was lost between
// two names.
func TestARollbackGivesAnIndexItsNameBack(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(100)
		before := r.indexes()
		j := r.job("names", "table: orders\nindex: orders_customer\n")
		j.begin()
		items, err := load(context.Background(), j.run(task.Transform))
		require.NoError(t, err)
		r.exec(items[0].Steps[0].SQL...)
		r.exec("ALTER TABLE orders RENAME INDEX orders_customer TO orders_customer__gw_old")
		stand, err := r.db.LookIndex(context.Background(), &items[0].IndexWork, 2, "")
		require.NoError(t, err)
		require.Equal(t, 1, stand.Done, "the names are to be changed")
		session, err := r.db.Session(context.Background())
		require.NoError(t, err)
		defer session.Destroy()
		removed, err := r.db.SweepIndex(context.Background(), session, &items[0].IndexWork, 0)
		require.NoError(t, err)
		require.Equal(t, []string{"orders_customer__gw_new"}, removed)
		require.Equal(t, before, r.indexes())
	})
}

func TestALimitThatOnlyACopyCanKeepMakesOne(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		before, number := r.indexes(), r.number("orders_customer")
		lines := "table: orders\nthrottle: {rows_per_second: 100000}\n"
		plan, err := r.job("p", lines).plan()
		require.NoError(t, err)
		require.Equal(t, task.Reindex, plan.Kind)
		require.Contains(t, strings.Join(plan.Statements, "\n"), "FORCE")
		j := r.job("copy", lines)
		_, err = j.preflight()
		require.NoError(t, err)
		j.reread()
		require.NotNil(t, j.spec.DDL, "the ledger has it as a copy")
		j.copied()
		j.cleanup()
		require.Equal(t, before, r.indexes())
		require.NotEqual(t, number, r.number("orders_customer"))
	})
}

// reread takes the spec from the ledger, as every call after the preflight does.
func (j *job) reread() {
	j.r.t.Helper()
	m, err := j.r.store.Migration(j.id).Load(context.Background())
	require.NoError(j.r.t, err)
	j.spec = new(spec.Spec)
	require.NoError(j.r.t, j.spec.UnmarshalJSON(m.Spec))
}

// copied does everything between the preflight of a copy and its cleanup.
func (j *job) copied() {
	j.r.t.Helper()
	ctx := context.Background()
	_, err := j.k.Backup(ctx, j.run(task.Backup))
	require.NoError(j.r.t, err)
	work, err := j.k.PrepareTransform(ctx, j.run(task.Transform))
	require.NoError(j.r.t, err)
	for {
		for _, no := range work.Open {
			require.NoError(j.r.t, j.shard(ctx, task.Transform, no))
		}
		work, err = j.k.FinishTransform(ctx, j.run(task.Transform))
		require.NoError(j.r.t, err)
		if len(work.Open) == 0 {
			break
		}
	}
	_, err = j.verify()
	require.NoError(j.r.t, err)
	_, err = j.k.Cutover(ctx, j.run(task.Cutover))
	require.NoError(j.r.t, err)
}
