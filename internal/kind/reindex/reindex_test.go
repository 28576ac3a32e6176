package reindex

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestAllIndexesOfATableAreBuiltAnewTheLargestFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(20_000)
		before := r.indexes()
		numbers := map[string]string{"orders_customer": "", "orders_note": ""}
		if r.postgres() {
			numbers["orders_pkey"] = "" // elsewhere it is the table
		}
		for index := range numbers {
			numbers[index] = r.number(index)
		}
		j := r.job("all", "table: orders\n")
		work := j.begin()
		require.Equal(t, len(numbers), work.Shards)
		if r.postgres() { // elsewhere the size is one of pages by the dozen
			require.Equal(t, r.table("orders_note"), work.Labels[0], "it is the largest")
		}
		for _, no := range work.Open {
			require.NoError(t, j.shard(context.Background(), task.Transform, no))
		}
		summary, err := j.verify()
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf("%d indexes are as defined, valid", len(numbers))}, summary.Checked)
		_, err = j.k.Cutover(context.Background(), j.run(task.Cutover))
		require.NoError(t, err)
		j.cleanup()
		require.Equal(t, before, r.indexes())
		for index, number := range numbers {
			require.NotEqual(t, number, r.number(index), index)
		}
		if r.postgres() {
			require.Equal(t, []string{"orders_pkey"}, r.texts("SELECT conindid::regclass::text FROM pg_constraint WHERE conrelid = 'orders'::regclass"), "the constraint has the new one")
		}
		require.Empty(t, j.events("leftover removed"))
	})
}

func TestOneIndexIsMadeAnotherOneDroppedAndBothAreTakenBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		before := r.indexes()
		create := r.pick("CREATE INDEX orders_customer_note ON orders (customer DESC, lower(note)) WHERE customer > 5;", "CREATE INDEX orders_customer_note ON orders (customer DESC, note(10)) COMMENT 'new'")
		j := r.job("swap", "table: orders\ncreate: [\""+create+"\"]\ndrop: orders_customer\n")
		require.NoError(t, j.transform())
		require.Len(t, r.indexes(), 4, "nothing is dropped before the cut-over")
		_, err := j.verify()
		require.NoError(t, err)
		cut, err := j.k.Cutover(context.Background(), j.run(task.Cutover))
		require.NoError(t, err)
		require.NotZero(t, cut.KeepFor)
		require.Contains(t, cut.Kept[0].What, "orders_customer")
		require.NotContains(t, strings.Join(r.indexes(), "\n"), r.pick("INDEX orders_customer ON", "orders.orders_customer customer"))
		require.Contains(t, strings.Join(r.indexes(), "\n"), "orders_customer_note")
		require.NoError(t, j.rollback())
		require.Equal(t, before, r.indexes())
		require.NoError(t, j.rollback(), "twice is no harm")
	})
}

func TestAnIndexThatHasGoneWithItsTableIsNotCalledTakenBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		j := r.job("gone", "create: CREATE INDEX orders_fresh ON orders (customer)\n")
		require.NoError(t, j.transform())
		r.exec("ALTER TABLE orders RENAME TO elsewhere")
		if r.postgres() {
			r.exec("ALTER INDEX orders_fresh RENAME TO elsewhere_fresh")
		}
		require.ErrorContains(t, j.rollback(), "is not there")
		if r.postgres() {
			r.exec("ALTER INDEX elsewhere_fresh RENAME TO orders_fresh")
		}
		r.exec("ALTER TABLE elsewhere RENAME TO orders")
		require.NoError(t, j.rollback())
		require.NotContains(t, strings.Join(r.indexes(), "\n"), "orders_fresh")

		other := r.job("dropped", "create: CREATE INDEX orders_fresh ON orders (customer)\n")
		require.NoError(t, other.transform())
		r.exec("DROP TABLE orders")
		require.ErrorContains(t, other.rollback(), "is not there")
		run := other.run(task.Cleanup)
		run.Cancel = true
		require.NoError(t, other.k.Rollback(context.Background(), run), "whoever cancels it leaves what cannot be taken back")
		require.Contains(t, strings.Join(r.texts("SELECT detail FROM "+r.pick("godwit.event", "_godwit_event")+" WHERE migration = 'dropped'"), "\n"), "orders_fresh stays as it is")
	})
}

func TestAfterItsCleanupADropIsFinal(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		j := r.job("drop", "table: orders\ndrop: orders_customer\n")
		j.all()
		j.cleanup()
		err := j.rollback()
		require.ErrorContains(t, err, "can no longer be rolled back")
		require.Len(t, r.indexes(), 2)
	})
}

func TestAllIndexesOfASchemaAreBuiltAndThoseOfPartitionsOneByOne(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("CREATE TABLE visits (id bigint NOT NULL, year int NOT NULL, PRIMARY KEY (id, year)) PARTITION BY LIST (year)",
			"CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1)", "CREATE TABLE visits_2 PARTITION OF visits FOR VALUES IN (2)")
		before := r.indexes()
		j := r.job("schema", "schema: public\n")
		j.all()
		require.Equal(t, before, r.indexes())
		require.Len(t, j.events("step done"), 5)
		j.cleanup()
		one := r.job("one", "table: visits\n")
		one.all()
		require.Len(t, one.events("step done"), 2)
	})
}

func TestIndexesOfMaterializedViewsAreBuiltLikeThoseOfTables(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) AS orders FROM orders GROUP BY customer", "CREATE UNIQUE INDEX totals_customer ON totals (customer)")
		before := r.indexes()
		number := r.number("totals_customer")
		j := r.job("schema", "schema: public\n")
		j.all()
		require.Len(t, j.events("step done"), 4)
		require.Equal(t, before, r.indexes())
		require.NotEqual(t, number, r.number("totals_customer"))
		j.cleanup()
		swap := r.job("swap", "table: totals\ncreate: CREATE INDEX totals_orders ON totals (orders)\ndrop: totals_customer\n")
		swap.all()
		require.Contains(t, strings.Join(r.indexes(), "\n"), "totals_orders")
		require.NotContains(t, strings.Join(r.indexes(), "\n"), "totals_customer")
		require.NoError(t, swap.rollback())
		require.Equal(t, before, r.indexes())
	})
}

func TestAPlanTellsOfTheIndexesOfTOASTTablesThatItLeavesOut(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE texts (id int PRIMARY KEY, body text)", "ALTER TABLE texts ALTER body SET STORAGE EXTERNAL", "INSERT INTO texts VALUES (1, repeat('x', 10000))")
		warnings := func(lines string) string {
			plan, err := r.job("p", lines).plan()
			require.NoError(t, err)
			return strings.Join(plan.Warnings, "\n")
		}
		require.Contains(t, warnings("table: texts\n"), "the indexes of TOAST tables are left out (1, 16 KiB): REINDEX TABLE CONCURRENTLY")
		require.NotContains(t, warnings("table: texts\nindex: texts_pkey\n"), "TOAST")
	})
}

func TestWhatCannotBeBuiltBesideTheWritersIsRefusedByName(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(10)
		r.exec("CREATE TABLE rooms (room int, during int4range, EXCLUDE USING gist (during WITH &&))",
			"CREATE TABLE visits (id bigint NOT NULL, PRIMARY KEY (id)) PARTITION BY LIST (id)")
		before := r.indexes()
		for _, c := range []struct{ lines, want string }{
			{"table: nothing\n", "table public.nothing: no such table"},
			{"schema: nothing\n", "there is no schema nothing"},
			{"table: orders\nindex: orders_customr\n", "there is no index orders_customr of public.orders; there are"},
			{"table: rooms\nindex: rooms_during_excl\n", "exclusion constraint"},
			{"table: orders\ndrop: orders_pkey\n", "belongs to the constraint orders_pkey"},
			{"create: CREATE INDEX a ON visits (id)\n", "is partitioned"},
			{"create: CREATE INDEX IF NOT EXISTS a ON orders (id)\n", "IF NOT EXISTS takes an index that is invalid"},
			{"create: CREATE INDEX ON orders (id)\n", "the index has no name"},
			{"create: CREATE INDEX orders_customer ON orders (id)\n", "there is an index public.orders_customer already"},
			{"create: CREATE INDEX rooms ON orders (id)\n", "the name public.rooms is taken: the name belongs to a table"},
			{"create: CREATE INDEX a ON orders (nothing)\n", "the server refuses"},
			{"create: DROP TABLE orders\n", "it is no CREATE INDEX statement"},
			{"create: CREATE INDEX a ON orders (id); DROP TABLE orders\n", "a semicolon"},
			{"table: orders\nthrottle: {rows_per_second: 5}\n", "rows_per_second and bytes_per_second cannot be kept"},
		} {
			_, err := r.job("refused", c.lines).preflight()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Config, fault.Of(err).Class, err.Error())
		}
		require.Equal(t, before, r.indexes())
	})
}

func TestAPlanSaysWhatIsBuiltAndChangesNothing(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(10)
		r.exec("CREATE TABLE rooms (room int, during int4range, EXCLUDE USING gist (during WITH &&))")
		before := r.indexes()
		plan, err := r.job("p", "schema: public\nbuild: {workers: 1, memory: 64MiB}\n").plan()
		require.NoError(t, err)
		require.Equal(t, 3, plan.Shards)
		require.Contains(t, strings.Join(plan.Statements, "\n"), `REINDEX INDEX CONCURRENTLY "public"."orders_customer"`)
		require.Contains(t, plan.Statements[0], "with up to 1 workers besides and 64 MiB of memory")
		require.Contains(t, strings.Join(plan.Warnings, "\n"), "exclusion constraint")
		require.Equal(t, before, r.indexes())
		require.Equal(t, "0", r.texts("SELECT count(*)::text FROM godwit.migration")[0])
	})
}

func TestATableHasOneMigrationAtATime(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		r.job("first", "table: orders\n").begin()
		_, err := r.job("second", "create: CREATE INDEX a ON orders (id)\n").preflight()
		require.ErrorContains(t, err, "is being migrated by first")
	})
}

func TestAnIndexThatWasDroppedMeanwhileIsMissed(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		j := r.job("gone", "table: orders\nindex: orders_customer\n")
		j.begin()
		r.exec(r.pick("DROP INDEX orders_customer", "DROP INDEX orders_customer ON orders"))
		require.ErrorContains(t, j.shard(context.Background(), task.Transform, 1), "is no longer there")
	})
}

func TestVerificationFindsAnIndexThatIsNotWhatItShouldBe(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		for i, c := range []struct{ spoil, want string }{
			{"DROP INDEX orders_customer", "is not there"},
			{"DROP INDEX orders_customer; CREATE INDEX orders_customer ON orders (customer DESC)", "and should be"},
			{"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'orders_customer'::regclass", "is not valid"},
			{"CREATE INDEX orders_customer_ccnew ON orders (customer); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'orders_customer_ccnew'::regclass", "is left"},
		} {
			r.orders(10)
			j := r.job("spoilt"+string(rune('a'+i)), "table: orders\nindex: orders_customer\n")
			require.NoError(t, j.transform())
			r.exec(strings.Split(c.spoil, "; ")...)
			_, err := j.verify()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Mismatch, fault.Of(err).Class)
			require.NoError(t, j.rollback())
			r.exec("DROP TABLE orders")
		}
	})
}

func TestWhereAmcheckIsThereAnUnsoundIndexIsFound(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		r.exec("CREATE EXTENSION amcheck")
		j := r.job("sound", "table: orders\nindex: orders_customer\n")
		require.NoError(t, j.transform())
		summary, err := j.verify()
		require.NoError(t, err)
		require.Equal(t, []string{"1 index is as defined, valid, and sound by amcheck"}, summary.Checked)

		lost := r.job("unsound", "table: orders\nindex: orders_note\n")
		_, err = lost.preflight()
		require.Error(t, err, "the first one has the table")
		j.cleanup()
		require.NoError(t, lost.transform())
		// Rows that the index has not heard of.
		r.exec("UPDATE pg_index SET indisready = false WHERE indexrelid = 'orders_note'::regclass", "INSERT INTO orders VALUES (5000, 1, 'unheard of')",
			"UPDATE pg_index SET indisready = true WHERE indexrelid = 'orders_note'::regclass")
		_, err = lost.verify()
		require.ErrorContains(t, err, "is not sound")
		require.Equal(t, task.Mismatch, fault.Of(err).Class)
	})
}
