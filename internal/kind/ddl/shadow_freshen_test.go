package ddl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestWhatComesToTheTableDuringTheCopyIsOnTheNewOneAfterwards(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.filled(30)
		r.exec("CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.state := NULL; NEW.state := ''seen''; RETURN NEW; END'")
		j := r.job("late", r.widen(), asShadow)
		require.NoError(t, j.prepare())
		r.exec("CREATE VIEW public.late AS SELECT id FROM public.orders", "CREATE TABLE public.lines (id int, order_id bigint REFERENCES public.orders)",
			"CREATE TRIGGER note BEFORE UPDATE ON public.orders FOR EACH ROW EXECUTE FUNCTION public.note()", "GRANT SELECT ON public.orders TO PUBLIC")
		_, err := j.verify()
		require.NoError(t, err)
		_, err = j.cutover()
		require.NoError(t, err)
		require.Len(t, j.events("planned anew"), 1)
		r.exec("INSERT INTO public.orders (id, customer, price) VALUES (500, 1, 1)", "INSERT INTO public.lines VALUES (1, 500)", "UPDATE public.orders SET price = 2 WHERE id = 3")
		require.Equal(t, "31", r.ask("SELECT count(*) FROM public.late"))
		require.Equal(t, "seen", r.ask("SELECT state FROM public.orders WHERE id = 3"))
		require.Equal(t, "true", r.ask("SELECT bool_or(grantee = 0) FROM pg_class, aclexplode(relacl) WHERE oid = 'public.orders'::regclass"))

		r.exec("CREATE VIEW public.later AS SELECT customer FROM public.orders")
		err = j.rollback()
		require.ErrorContains(t, err, "view public.later")
		require.Equal(t, task.Human, fault.Of(err).Class)
		r.exec("DROP VIEW public.later")
		require.NoError(t, j.rollback())
		r.exec("INSERT INTO public.lines VALUES (2, 500)")
		require.Equal(t, "31", r.ask("SELECT count(*) FROM public.late"))
		require.Empty(t, r.list("SELECT relname::text FROM pg_class WHERE relname LIKE '%\\_\\_gw%'"))
	})
}

func TestARowOfWhichNothingCanBeMadeIsNamedBeforeAnythingIsDone(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.filled(50)
		r.exec("UPDATE public.orders SET note = id::text", "UPDATE public.orders SET note = 'abc' WHERE id = 37")
		for i, alter := range []string{"ALTER note TYPE bigint USING note::bigint", "ALTER note TYPE bigint USING note::bigint, ALTER note SET NOT NULL", "ADD CONSTRAINT counted CHECK (note::bigint > 0)"} {
			_, err := r.job("row"+string(rune('a'+i)), alter, "").preflight()
			require.ErrorContains(t, err, "row id=37", alter)
			require.ErrorContains(t, err, `"abc"`, alter)
			require.Equal(t, task.Data, fault.Of(err).Class, err.Error())
		}
	})
}

func TestNamesInADirectChangeMeanWhatTheyMeanToTheUser(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("CREATE TYPE public.mood AS ENUM ('sad', 'ok')", "CREATE FUNCTION public.fine(text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 <> ''bad'''")
		r.job("direct", "ADD COLUMN feeling mood DEFAULT 'ok', ADD CONSTRAINT tidy CHECK (fine(note))", "undo: ALTER TABLE public.orders ALTER feeling SET DEFAULT 'sad'::mood\n").all()
		require.Contains(t, r.column("feeling"), "public.mood")
		j := r.job("direct", "x", "")
		j.spec.DDL.Undo = "ALTER TABLE orders DROP feeling, DROP CONSTRAINT tidy"
		require.NoError(t, j.rollback())
		require.Empty(t, r.column("feeling"))
	})
}
