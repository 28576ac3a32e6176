package ddl

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// sequences are the safe forms of PostgreSQL: what is asked for, the steps that
// it takes, and lines of the definition that come of it.
var sequences = []struct {
	alter string
	steps []string
	want  []string
}{
	{"ALTER customer SET NOT NULL",
		[]string{"CHECK (\"customer\" IS NOT NULL) NOT VALID", "VALIDATE CONSTRAINT \"orders_customer_not_null__gw\"", "ALTER customer SET NOT NULL\nDROP CONSTRAINT"},
		[]string{`column "customer" bigint not null`}},
	{"ADD CHECK (price > 0)",
		[]string{`ADD CONSTRAINT "orders_price_check" CHECK (price > 0) NOT VALID`, `VALIDATE CONSTRAINT "orders_price_check"`},
		[]string{`check "orders_price_check" (price > (0)::numeric)`}},
	{"ADD CONSTRAINT known FOREIGN KEY (customer) REFERENCES public.customers",
		[]string{`ADD CONSTRAINT "known" FOREIGN KEY (customer) REFERENCES public.customers NOT VALID`, `VALIDATE CONSTRAINT "known"`},
		[]string{`foreign key "known" ["customer"] references`}},
	{"ADD UNIQUE (note, price)",
		[]string{`CREATE UNIQUE INDEX CONCURRENTLY "orders_note_price_key"`, `ADD CONSTRAINT "orders_note_price_key" UNIQUE USING INDEX "orders_note_price_key"`},
		[]string{`unique index "orders_note_price_key" btree "note" "price"`}},
	{"ADD CONSTRAINT noted UNIQUE NULLS NOT DISTINCT (note) INCLUDE (price) DEFERRABLE INITIALLY DEFERRED, ADD FOREIGN KEY (customer) REFERENCES public.customers (id) ON DELETE SET NULL DEFERRABLE",
		[]string{`ON "public"."orders" ("note") INCLUDE (price) NULLS NOT DISTINCT`, `UNIQUE USING INDEX "noted" DEFERRABLE INITIALLY DEFERRED`,
			`ADD CONSTRAINT "orders_customer_fkey" FOREIGN KEY (customer) REFERENCES public.customers (id) ON DELETE SET NULL DEFERRABLE NOT VALID`},
		[]string{`unique index "noted" btree "note"`, `"id"] on delete SET NULL`}},
	{"DROP CONSTRAINT orders_pkey, ADD CONSTRAINT orders_key PRIMARY KEY (customer), ADD COLUMN region text",
		[]string{`CREATE UNIQUE INDEX CONCURRENTLY "orders_key"`, "CHECK (\"customer\" IS NOT NULL) NOT VALID", "VALIDATE CONSTRAINT",
			"DROP CONSTRAINT orders_pkey, ALTER COLUMN \"customer\" SET NOT NULL, ADD CONSTRAINT \"orders_key\" PRIMARY KEY USING INDEX"},
		[]string{`primary key "orders_key" btree "customer"`, `column "region" text`, `column "customer" bigint not null`}},
	{"ALTER note TYPE varchar(40), ALTER price TYPE numeric(12,2), ALTER state DROP NOT NULL, ALTER state SET STATISTICS 500, ADD w int DEFAULT 7 NOT NULL",
		[]string{"ALTER note TYPE varchar(40), ALTER price TYPE numeric(12,2)"},
		[]string{`column "note" character varying(40)`, `column "price" numeric(12,2)`, `column "w" integer not null default "7"`}},
}

func TestUnsafeFormsBecomeStepsThatKeepNobodyOut(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE public.customers (id bigint PRIMARY KEY)", "INSERT INTO public.customers SELECT generate_series(101, 110)")
		for i, c := range sequences {
			r.exec("DROP TABLE IF EXISTS public.orders")
			r.orders()
			j := r.job("sequence"+string(rune('a'+i)), c.alter, "")
			plan, err := j.plan()
			require.NoError(t, err, c.alter)
			text := strings.Join(plan.Statements, "\n")
			for _, step := range c.steps {
				for _, part := range strings.Split(step, "\n") {
					require.Contains(t, text, part, c.alter)
				}
			}
			j.all()
			shape := strings.Join(r.shape(), "\n")
			for _, line := range c.want {
				require.Contains(t, shape, line, c.alter)
			}
			require.Empty(t, r.leftovers(), c.alter)
			require.Equal(t, "10", r.ask("SELECT count(*) FROM public.orders"))
			j.cleanup()
		}
	})
}

func TestNoStepOfASafeFormReadsRowsUnderALockThatKeepsOthersOut(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("proof", "ALTER customer SET NOT NULL, ADD COLUMN region text", "")
		require.NoError(t, j.prepare())
		// The application reads and writes in a transaction that is open while the
		// rows are validated; it would be waited for by anything stronger.
		it, err := load(context.Background(), j.run(task.Verify))
		require.NoError(t, err)
		for _, step := range it.steps(false) {
			if strings.Contains(step.SQL[0], "VALIDATE") {
				require.False(t, step.Brief)
				end := r.transaction("UPDATE public.orders SET price = 2 WHERE id = 1")
				r.exec("SET lock_timeout = '100ms'", step.SQL[0], "RESET lock_timeout")
				end()
			}
		}
	})
}

func TestATableWithoutAKeyGetsOne(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("ALTER TABLE public.orders DROP CONSTRAINT orders_pkey")
		j := r.job("keyless", "ADD PRIMARY KEY (id)", "")
		require.NoError(t, j.prepare())
		_, err := j.preflight()
		require.NoError(t, err, "a retry takes the index for what it is")
		_, err = j.cutover()
		require.NoError(t, err)
		require.Contains(t, strings.Join(r.shape(), "\n"), `primary key "orders_pkey" btree "id"`)
	})
}

func TestAnIndexThatWaitsForAnOldTransactionSaysForWhom(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("CREATE TABLE public.other (id int)")
		j := r.job("index", "ADD CONSTRAINT noted UNIQUE (note)", "")
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.d.Backup(t.Context(), j.run(task.Backup))
		require.NoError(t, err)
		end := r.transaction("INSERT INTO public.other VALUES (1)", "UPDATE public.orders SET price = 4 WHERE id = 4")
		done := make(chan error, 1)
		go func() { done <- j.transform() }()
		soon(t, "it says whom it waits for", func() bool {
			return j.waited(func(text string) bool {
				return strings.Contains(text, "SET price = 4") && strings.Contains(text, "this has to wait for it")
			})
		})
		r.exec("UPDATE public.orders SET price = 5 WHERE id = 5") // nobody waits behind it
		end()
		require.NoError(t, <-done)
	})
}

func TestWhatDependsOnTheSameAlterIsRefused(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("ALTER TABLE public.orders ADD CONSTRAINT cheap CHECK (price < 1000)", "CREATE VIEW public.notes AS SELECT note FROM public.orders",
			"CREATE TABLE public.customers (id bigint PRIMARY KEY)")
		for _, c := range []struct{ alter, want string }{
			{"ADD COLUMN a int, ADD CHECK (a > price)", "make it another migration, after this one"},
			{"DROP CONSTRAINT cheap, ADD CONSTRAINT cheap CHECK (price < 2000)", "make it another migration, after this one"},
			{"DROP COLUMN note", "because of public.notes"},
			{"ALTER note TYPE varchar(50)", "because of public.notes"},
			{"ADD FOREIGN KEY (customer) REFERENCES customers", "write REFERENCES schema.customers"},
			{"ADD COLUMN c bigint REFERENCES public.customers", "in another migration, the foreign key"},
			{"ADD EXCLUDE USING gist (note WITH =)", "no other way to add an exclusion constraint"},
			{"ADD CONSTRAINT orders_pkey UNIQUE (note)", "the server refuses"},
			{"RENAME note TO remark, ADD COLUMN a int", "the server refuses"},
			{"SET TABLESPACE pg_default", "copies the table"},
		} {
			_, err := r.job("refused", c.alter, "strategy: direct\n").preflight()
			require.ErrorContains(t, err, c.want, c.alter)
			require.Equal(t, task.Config, fault.Of(err).Class, err.Error())
		}
		require.Empty(t, r.leftovers())
	})
}

func TestRowsInTheWayAreNamedBeforeAnythingIsChanged(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE public.customers (id bigint PRIMARY KEY)", "INSERT INTO public.customers SELECT generate_series(102, 110)")
		r.orders()
		r.exec("UPDATE public.orders SET customer = NULL WHERE id IN (3, 7)", "UPDATE public.orders SET note = 'n9' WHERE id = 10", "UPDATE public.orders SET price = -price WHERE id > 3")
		before := r.shape()
		for _, c := range []struct{ alter, want string }{
			{"ALTER customer SET NOT NULL", "customer must not be NULL, which 2 rows do not meet (id=3 customer=NULL, id=7 customer=NULL)"},
			{"ADD UNIQUE (note)", "note must be unique, which 2 rows do not meet (id="},
			{"ADD CHECK (price > 0)", "which 7 rows do not meet (id=4 price="},
			{"ADD FOREIGN KEY (customer) REFERENCES public.customers (id)", "customer must be in public.customers, which 1 row does not meet (id=1 customer=101)"},
			{"ADD PRIMARY KEY (customer), DROP CONSTRAINT orders_pkey", "id=3 customer=NULL"},
		} {
			_, err := r.job("data", c.alter, "").preflight()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Data, fault.Of(err).Class)
		}
		require.Equal(t, before, r.shape())
		require.Empty(t, r.leftovers())
	})
}

func TestTablesWithOddNamesAndManyThingsAreClonedAsTheyAre(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.exec(`CREATE SCHEMA "My Shop"`, `CREATE TYPE "My Shop".mood AS ENUM ('ok', 'bad')`,
			`CREATE TABLE "My Shop"."Or""ders" ("Id" bigserial PRIMARY KEY, m "My Shop".mood DEFAULT 'ok', n int GENERATED ALWAYS AS IDENTITY, twice int GENERATED ALWAYS AS (1 + 1) STORED,
				day date NOT NULL DEFAULT current_date, CONSTRAINT "a check" CHECK ("Id" > 0), CONSTRAINT one UNIQUE (n, day))`,
			`CREATE INDEX "on it" ON "My Shop"."Or""ders" USING btree ((n + 1)) WHERE m = 'ok'`, `INSERT INTO "My Shop"."Or""ders" DEFAULT VALUES`)
		for i, alter := range []string{
			`ADD COLUMN "New One" "My Shop".mood NOT NULL DEFAULT 'bad'`, `ALTER "Id" DROP DEFAULT`, `DROP CONSTRAINT "a check", DROP CONSTRAINT one`,
			`ALTER m SET NOT NULL, ADD CONSTRAINT "Two" UNIQUE ("Id", m)`, `RENAME CONSTRAINT "Two" TO three`, `DROP COLUMN twice, ALTER n DROP IDENTITY`,
		} {
			j := r.job("odd"+string(rune('a'+i)), alter, "")
			j.spec.DDL.Table = `My Shop.Or"ders`
			j.all()
			j.cleanup()
			require.Empty(t, r.leftovers())
		}
	})
}
