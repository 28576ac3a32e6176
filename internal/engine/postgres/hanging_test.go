package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// changes of what hangs on the table orders, all of which an online copy takes over.
var hungOn = []string{
	"CREATE TRIGGER fresh AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION note()",
	"DROP TRIGGER silent ON orders",
	"CREATE VIEW public.late_view AS SELECT id, customer::text FROM orders",
	"CREATE OR REPLACE VIEW public.cheap_orders WITH (security_barrier) AS SELECT id, price, o.\"The Note\" FROM orders o WHERE price < 11",
	"CREATE TABLE public.parcels (id int PRIMARY KEY, order_id int CONSTRAINT parcels_order REFERENCES orders)",
	"ALTER TABLE lines DROP CONSTRAINT lines_note",
	"GRANT REFERENCES ON orders TO PUBLIC", "REVOKE UPDATE ON orders FROM PUBLIC", "GRANT SELECT (price) ON orders TO PUBLIC",
	"CREATE POLICY fresh ON orders FOR DELETE USING (price > 3)", "DROP POLICY all_rows ON orders",
	"ALTER PUBLICATION whole DROP TABLE orders", "CREATE PUBLICATION third FOR TABLE orders",
	"COMMENT ON TABLE orders IS 'of another shop'", "COMMENT ON COLUMN orders.price IS NULL", "COMMENT ON COLUMN orders.id IS 'number'",
}

func TestWhatComesToTheTableWhileItIsCopiedComesAlong(t *testing.T) {
	s, _ := laden(t)
	want := func(r *engine.Reshaping) *engine.Reshape {
		return &engine.Reshape{Table: r.Table, Alter: "ALTER customer TYPE bigint", KeepOld: true}
	}
	r := reshaped(t, s, "public.orders", "ALTER customer TYPE bigint", nil)
	same, err := s.Freshen(t.Context(), want(r), r)
	require.NoError(t, err)
	require.Same(t, r, same, "nothing has changed")
	public(t, s, hungOn...)
	err = swap(t, s, &engine.Swap{Reshaping: r})
	require.ErrorContains(t, err, "has just been changed")
	require.Equal(t, task.Busy, fault.Of(err).Class)
	before := withoutCapture(dump(t, s))

	r, err = s.Freshen(t.Context(), want(r), r)
	require.NoError(t, err)
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r, Locked: func(ctx context.Context, q engine.Querier) error {
		return drainAll(ctx, s, q, r.Capture, r.Forward)
	}}))
	require.NoError(t, s.Settle(t.Context(), r, false))
	require.NoError(t, s.DropCapture(t.Context(), r.Capture))
	gone, come := apart(before, withoutCapture(dump(t, s)))
	require.Len(t, gone, 1, "%q", gone)
	require.Len(t, come, 1, "%q", come)
	require.Contains(t, come[0], "customer bigint")
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r, Back: true}))
	require.NoError(t, s.Settle(t.Context(), r, true))
	require.NoError(t, s.DropCapture(t.Context(), r.Back))
	require.NoError(t, s.DropBeside(t.Context(), r, r.Shadow))
	public(t, s, "INSERT INTO lines VALUES (1001, 110)", "INSERT INTO parcels VALUES (1, 110)")
	gone, come = apart(before, dump(t, s))
	// The old table has the grants, policies and comments that it had.
	for _, statement := range append(gone, come...) {
		require.True(t, containsAny(statement, "GRANT", "REVOKE", "POLICY", "COMMENT"), statement)
	}
}

func TestWhatTheNewTableWouldHaveToBeMadeAnewForIsRefusedByName(t *testing.T) {
	for statement, says := range map[string]string{
		"CREATE INDEX late ON orders (price)":                                   "late",
		"ALTER TABLE orders ALTER price SET DEFAULT 3":                          "price",
		"ALTER TABLE orders ADD CONSTRAINT late CHECK (price < 999)":            "late",
		"CREATE MATERIALIZED VIEW public.late AS SELECT sum(price) FROM orders": "materialized view public.late",
		"CREATE VIEW public.late AS SELECT customer FROM orders":                "view public.late",
		"ALTER SEQUENCE orders_no_seq MAXVALUE 999 CYCLE":                       "sequence orders_no_seq",
		"CREATE RULE late AS ON DELETE TO orders DO INSTEAD NOTHING":            "rule late",
	} {
		t.Run(statement, func(t *testing.T) {
			s := opened(t, "CREATE TABLE orders (id int PRIMARY KEY, customer int, price int, no int GENERATED ALWAYS AS IDENTITY)")
			r := reshaped(t, s, "public.orders", "ALTER customer TYPE bigint", nil)
			public(t, s, statement)
			_, err := s.Freshen(t.Context(), &engine.Reshape{Table: r.Table, Alter: "ALTER customer TYPE bigint", KeepOld: true}, r)
			require.ErrorContains(t, err, says)
			require.Equal(t, task.Config, fault.Of(err).Class)
		})
	}
}

func TestWhatComesInTheLastMomentIsSeenUnderTheLock(t *testing.T) {
	s := opened(t, "CREATE TABLE orders (id int PRIMARY KEY, customer int)", "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
	for _, statement := range []string{
		"CREATE TRIGGER late AFTER INSERT ON public.orders FOR EACH ROW EXECUTE FUNCTION public.note()", "CREATE VIEW public.late AS SELECT id FROM public.orders", "GRANT SELECT ON public.orders TO PUBLIC",
		"CREATE TABLE public.late_lines (id int REFERENCES public.orders)", "ALTER TABLE public.orders ADD COLUMN late int", "ALTER TABLE public.orders DISABLE TRIGGER godwit_capture_row",
	} {
		t.Run(statement, func(t *testing.T) {
			r := reshaped(t, s, "public.orders", "ALTER customer TYPE bigint", nil)
			// It is done when the swap has looked what there is, and waits for the lock.
			other, err := s.begin(t.Context())
			require.NoError(t, err)
			_, err = other.Exec(t.Context(), statement+"; LOCK TABLE public.orders IN ACCESS SHARE MODE")
			require.NoError(t, err)
			swapped := make(chan error, 1)
			go func() { swapped <- swap(t, s, &engine.Swap{Reshaping: r}) }()
			require.Eventually(t, func() bool {
				return value[bool](t, s, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'public.orders'::regclass)")
			}, 30*time.Second, 5*time.Millisecond)
			require.NoError(t, other.Commit(t.Context()))
			err = <-swapped
			require.Error(t, err)
			stand, looked := s.Stand(t.Context(), r)
			require.NoError(t, looked)
			require.Equal(t, engine.StandBeside, stand)
			require.NoError(t, s.DropCapture(t.Context(), r.Capture))
			require.NoError(t, s.DropCapture(t.Context(), r.Back))
			require.NoError(t, s.DropBeside(t.Context(), r, r.Shadow))
			execute(t, s, "DROP VIEW IF EXISTS public.late", "DROP TABLE IF EXISTS public.late_lines", "DROP TRIGGER IF EXISTS late ON public.orders", "ALTER TABLE public.orders DROP COLUMN IF EXISTS late")
		})
	}
}

func TestTheWayBackNamesWhatHasComeToTheNewTableSince(t *testing.T) {
	s := opened(t, "CREATE TABLE orders (id int PRIMARY KEY, customer int)", "INSERT INTO orders VALUES (1, 1)")
	r := reshaped(t, s, "public.orders", "ALTER customer TYPE bigint", nil)
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r}))
	require.NoError(t, s.DropCapture(t.Context(), r.Capture))
	var err error
	r.Hung, err = s.Hanging(t.Context(), r.Table.Name)
	require.NoError(t, err)
	public(t, s, "CREATE VIEW public.late AS SELECT customer FROM orders", "CREATE TABLE public.lines (id int REFERENCES orders)")
	err = swap(t, s, &engine.Swap{Reshaping: r, Back: true})
	require.ErrorContains(t, err, "view public.late")
	require.ErrorContains(t, err, "of public.lines")
	require.Equal(t, task.Human, fault.Of(err).Class)
	public(t, s, "DROP VIEW late", "DROP TABLE lines")
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r, Back: true}))
}

func TestATableThatIsEmptiedAndAnalyzedHasTheSameThingsHangingOnIt(t *testing.T) {
	s := opened(t, "CREATE TABLE orders (id int PRIMARY KEY, customer int)", "CREATE INDEX ON orders (customer)", "INSERT INTO orders SELECT i, i FROM generate_series(1, 1000) i")
	name := engine.ParseName("public.orders")
	before := value[string](t, s, marks(name))
	execute(t, s, "TRUNCATE public.orders", "VACUUM ANALYZE public.orders", "REINDEX TABLE public.orders")
	require.Equal(t, before, value[string](t, s, marks(name)))
	execute(t, s, "GRANT SELECT ON public.orders TO PUBLIC")
	require.NotEqual(t, before, value[string](t, s, marks(name)))
}
