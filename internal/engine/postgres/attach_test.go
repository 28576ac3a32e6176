package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// laden makes a table with everything hanging on it that survives an online copy.
func laden(t testing.TB) (s *Server, reader string) {
	reader = newRole(t, "")
	owner := newRole(t, "")
	s = opened(t,
		"CREATE TYPE mood AS ENUM ('sad', 'ok')",
		"CREATE TABLE customers (id int PRIMARY KEY, name text)",
		"CREATE TABLE regions (id int PRIMARY KEY, code text UNIQUE)",
		"CREATE TABLE audit (what text)",
		"CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.audit VALUES (TG_NAME); RETURN NEW; END $$",
		`CREATE TABLE orders (
			id int GENERATED ALWAYS AS IDENTITY (START WITH 100 INCREMENT BY 10 CACHE 5) CONSTRAINT orders_key PRIMARY KEY,
			serial serial, customer int NOT NULL CONSTRAINT positive CHECK (customer > 0) REFERENCES customers ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
			parent int CONSTRAINT itself REFERENCES orders ON UPDATE CASCADE, region text REFERENCES regions (code) MATCH FULL, "The Note" varchar(20) COLLATE "C" DEFAULT 'it''s' UNIQUE,
			feeling mood DEFAULT 'ok', price numeric(10,2) NOT NULL, gross numeric GENERATED ALWAYS AS (price * 1.2) STORED, during int4range, tags text[] DEFAULT '{}',
			CONSTRAINT apart EXCLUDE USING gist (during WITH &&), CONSTRAINT late UNIQUE (serial) DEFERRABLE INITIALLY DEFERRED) WITH (fillfactor = 80, toast.autovacuum_enabled = false)`,
		"CREATE INDEX orders_region ON orders (region, id DESC) INCLUDE (price) WITH (fillfactor = 70) WHERE region IS NOT NULL",
		"CREATE INDEX orders_lower ON orders (lower(\"The Note\"))",
		"CREATE UNIQUE INDEX orders_parent ON orders (parent, id) WHERE parent > 0",
		"ALTER TABLE orders ADD CONSTRAINT cheap CHECK (price < 1000) NOT VALID",
		"ALTER TABLE orders ALTER tags SET STORAGE EXTERNAL, ALTER region SET STATISTICS 500, ALTER region SET (n_distinct = 7), ALTER tags SET COMPRESSION pglz",
		"ALTER TABLE orders CLUSTER ON orders_lower, REPLICA IDENTITY USING INDEX orders_key",
		"CREATE STATISTICS orders_stat (ndistinct, mcv) ON customer, region FROM orders",
		"CREATE STATISTICS orders_expression ON (price * 2) FROM orders",
		"ALTER STATISTICS orders_stat SET STATISTICS 50",
		"CREATE TABLE lines (id int PRIMARY KEY, order_id int NOT NULL CONSTRAINT lines_order REFERENCES orders ON DELETE CASCADE, note text)",
		"ALTER TABLE lines ADD CONSTRAINT lines_note FOREIGN KEY (note) REFERENCES orders (\"The Note\") ON DELETE SET NULL (note) NOT VALID",
		"CREATE VIEW cheap_orders WITH (security_barrier, check_option = local) AS SELECT id, price, o.\"The Note\" FROM orders o WHERE price < 10",
		"CREATE VIEW by_customer AS SELECT c.name, count(o.id) FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id",
		"CREATE VIEW over AS SELECT * FROM cheap_orders",
		"CREATE TRIGGER stamp BEFORE UPDATE OF price ON orders FOR EACH ROW WHEN (OLD.price IS DISTINCT FROM NEW.price) EXECUTE FUNCTION note()",
		"CREATE TRIGGER silent AFTER INSERT ON orders REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note()",
		"CREATE CONSTRAINT TRIGGER checked AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()",
		"ALTER TABLE orders DISABLE TRIGGER silent, ENABLE ALWAYS TRIGGER stamp",
		"GRANT SELECT, UPDATE ON orders TO "+reader, "GRANT INSERT (customer, price) ON orders TO PUBLIC", "GRANT USAGE ON SEQUENCE orders_id_seq, orders_serial_seq TO "+reader, "GRANT DELETE ON orders TO "+reader+" WITH GRANT OPTION",
		"ALTER TABLE orders OWNER TO "+owner,
		"ALTER DEFAULT PRIVILEGES GRANT TRUNCATE ON TABLES TO "+reader,
		"CREATE POLICY mine ON orders AS RESTRICTIVE FOR UPDATE TO "+reader+", CURRENT_USER USING (customer > 1) WITH CHECK (price > (SELECT min(x.price) FROM orders x))",
		"CREATE POLICY all_rows ON orders USING (true)",
		"ALTER TABLE orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
		"CREATE PUBLICATION named FOR TABLE orders (id, price) WHERE (id > 1), customers",
		"CREATE PUBLICATION whole FOR TABLE orders WITH (publish = 'insert')",
		"COMMENT ON TABLE orders IS 'of the ''shop'''", "COMMENT ON COLUMN orders.price IS 'net'", "COMMENT ON INDEX orders_region IS 'for reports'", "COMMENT ON CONSTRAINT positive ON orders IS 'there is no customer 0'",
		"COMMENT ON CONSTRAINT orders_key ON orders IS 'key'", "COMMENT ON CONSTRAINT itself ON orders IS 'tree'", "COMMENT ON CONSTRAINT lines_order ON lines IS 'of'",
		"COMMENT ON TRIGGER stamp ON orders IS 'stamps'", "COMMENT ON POLICY mine ON orders IS 'rows'", "COMMENT ON STATISTICS orders_stat IS 'both'", "COMMENT ON SEQUENCE orders_id_seq IS 'numbers'", "COMMENT ON SEQUENCE orders_serial_seq IS 'more'", "GRANT UPDATE ON SEQUENCE orders_id_seq TO "+reader+" WITH GRANT OPTION", "COMMENT ON CONSTRAINT cheap ON orders IS 'some are dear'",
		"INSERT INTO customers SELECT i, 'c' || i FROM generate_series(1, 20) i", "INSERT INTO regions VALUES (1, 'eu'), (2, 'us')",
		`INSERT INTO orders (customer, parent, region, "The Note", price, during, tags) SELECT i % 20 + 1, NULL, CASE WHEN i % 3 = 0 THEN 'eu' END, 'n' || i, i, int4range(i, i + 1), ARRAY['a', 'b'] FROM generate_series(1, 500) i`,
		"UPDATE orders SET parent = 100 WHERE id > 4000",
		"INSERT INTO lines SELECT i, 90 + 10 * i FROM generate_series(1, 100) i",
	)
	return s, reader
}

func TestEverythingThatHangsOnATableIsThereAfterTheSwapAndAfterTheWayBack(t *testing.T) {
	s, _ := laden(t)
	before := dump(t, s)
	r := reshaped(t, s, "public.orders", "ALTER customer TYPE bigint, ADD COLUMN weight int DEFAULT 7, ADD CONSTRAINT heavy CHECK (weight > 0)", nil)
	require.Empty(t, r.OneWay)
	same, err := s.Compare(t.Context(), s, r, engine.Part{}, nil)
	require.NoError(t, err)
	require.Equal(t, engine.Compared{Rows: 500, Copies: 500}, same)

	public(t, s, "TRUNCATE audit", "UPDATE orders SET price = 5 WHERE id = 110", "SELECT nextval('orders_id_seq')")
	began := time.Now()
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r, Locked: func(ctx context.Context, q engine.Querier) error {
		return drainAll(ctx, s, q, r.Capture, r.Forward)
	}}))
	t.Logf("the swap of %d statements took %s", len(r.Swap), time.Since(began))
	require.NoError(t, s.Settle(t.Context(), r, false))
	require.NoError(t, s.VerifyCapture(t.Context(), r.Capture, r.Old))
	require.NoError(t, s.DropCapture(t.Context(), r.Capture))
	gone, come := apart(before, withoutCapture(dump(t, s)))
	require.Len(t, gone, 1, "%q", gone)
	require.Len(t, come, 1, "%q", come)
	require.Contains(t, come[0], "CREATE TABLE public.orders (")
	require.Contains(t, come[0], "customer bigint")

	public(t, s, "INSERT INTO orders (customer, price) VALUES (3, 9)", "UPDATE orders SET customer = 4 WHERE id = 120")
	require.Greater(t, value[int64](t, s, "SELECT max(id) FROM public.orders"), int64(5100), "the identity goes on")
	public(t, s, "DELETE FROM customers WHERE id = 20")
	require.Zero(t, value[int64](t, s, "SELECT count(*) FROM public.orders WHERE customer = 20"), "ON DELETE CASCADE still does")
	back := live(r)
	require.NoError(t, drainAll(t.Context(), s, s, back.Capture, back.Forward))
	same, err = s.Compare(t.Context(), s, back, engine.Part{}, nil)
	require.NoError(t, err)
	require.True(t, same.Same(), "%+v", same)
	require.Equal(t, int64(2), value[int64](t, s, "SELECT count(*) FROM public.audit"), "the copies have fired no trigger of the application's")
	require.NoError(t, s.VerifyCapture(t.Context(), back.Capture, back.Table.Name))
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r, Back: true}))
	require.NoError(t, s.Settle(t.Context(), r, true))
	require.NoError(t, s.DropCapture(t.Context(), r.Back))
	require.NoError(t, s.DropBeside(t.Context(), r, r.Shadow))
	gone, come = apart(before, dump(t, s))
	require.Empty(t, gone)
	require.Empty(t, come)
	public(t, s, "INSERT INTO orders (customer, price, \"The Note\") VALUES (3, 9, NULL)")
	stand, err := s.Stand(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, engine.StandAlone, stand)
}

// withoutCapture leaves out the triggers that note changes for the way back.
func withoutCapture(statements []string) []string {
	var list []string
	for _, statement := range statements {
		if !containsAny(statement, rowTrigger, movedTrigger, emptyTrigger) {
			list = append(list, statement)
		}
	}
	return list
}

func TestTheOldTableCanBeDroppedAfterTheSwap(t *testing.T) {
	s, _ := laden(t)
	r := reshaped(t, s, "public.orders", "ALTER customer TYPE bigint", func(want *engine.Reshape) { want.KeepOld = false })
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r}))
	require.NoError(t, s.Settle(t.Context(), r, false))
	require.NoError(t, s.DropCapture(t.Context(), r.Capture))
	require.NoError(t, s.DropBeside(t.Context(), r, r.Old))
	public(t, s, "INSERT INTO orders (customer, price) VALUES (3, 9)", "SELECT * FROM over")
	require.Zero(t, value[int64](t, s, `SELECT count(*) FROM pg_class WHERE relname LIKE '%\_\_gw\_%'`))
}

func TestWhatWouldBeLostIsRefusedByName(t *testing.T) {
	for i, c := range []struct{ statement, alter, says string }{
		{"CREATE MATERIALIZED VIEW totals AS SELECT sum(price) FROM plain", "ALTER price TYPE numeric(12,2)", "materialized view public.totals"},
		{"CREATE RULE nothing AS ON DELETE TO plain DO INSTEAD NOTHING", "ALTER price TYPE numeric(12,2)", "rule nothing on table public.plain"},
		{"CREATE FUNCTION f() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM plain; END", "ALTER price TYPE numeric(12,2)", "function public.f()"},
		{"CREATE FUNCTION g(plain) RETURNS int LANGUAGE sql AS 'SELECT 1'", "ALTER price TYPE numeric(12,2)", "function public.g(public.plain)"},
		{"CREATE TABLE other (p plain)", "ALTER price TYPE numeric(12,2)", "column p of table public.other"},
		{"CREATE VIEW front AS SELECT 1 AS id; CREATE RULE behind AS ON INSERT TO front DO INSTEAD INSERT INTO plain VALUES (NEW.id)", "ALTER price TYPE numeric(12,2)", "rule behind on view public.front"},
		{"CREATE TABLE plain__gw_new (id int)", "ALTER price TYPE numeric(12,2)", "there is a public.plain__gw_new already"},
		{"CREATE VIEW plain__gw_old AS SELECT 1", "ALTER price TYPE numeric(12,2)", "there is a public.plain__gw_old already"},
		{"ALTER TABLE plain ALTER price SET NOT NULL; CREATE UNIQUE INDEX plain_price ON plain (price); ALTER TABLE plain REPLICA IDENTITY USING INDEX plain_price", "ALTER price DROP NOT NULL", "replica identity"},
		{"CREATE TABLE child () INHERITS (plain)", "ALTER price TYPE numeric(12,2)", "table public.child"},
		{"CREATE VIEW prices AS SELECT price FROM plain", "ALTER price TYPE numeric(12,2)", "view public.prices has columns"},
		{"CREATE VIEW prices AS SELECT price FROM plain", "DROP COLUMN price", "view public.prices of public.plain does not fit"},
		{"CREATE TABLE other (p int REFERENCES plain)", "DROP CONSTRAINT plain_pkey CASCADE, ADD PRIMARY KEY (id, price)", "foreign key other_p_fkey of public.other refers to (id)"},
		{"CREATE POLICY p ON plain USING (price > 1)", "DROP COLUMN price", "policy p of public.plain does not fit"},
		{"", "OWNER TO CURRENT_USER", "change of the catalog alone"},
		{"", "RENAME TO other", "another name"},
		{"", "ALTER id TYPE text, ATTACH PARTITION x DEFAULT", "another table"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := opened(t, "CREATE TABLE plain (id int PRIMARY KEY, price numeric(10,2))")
			if c.statement != "" {
				public(t, s, c.statement)
			}
			_, err := reshape(t, s, "public.plain", c.alter, nil)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestATemporaryViewOfAnotherSessionIsRefusedByName(t *testing.T) {
	s := opened(t, "CREATE TABLE plain (id int PRIMARY KEY, n int)")
	conn, err := s.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Destroy()
	_, err = conn.Exec(t.Context(), "CREATE TEMPORARY VIEW glance AS SELECT id FROM public.plain")
	require.NoError(t, err)
	_, err = reshape(t, s, "public.plain", "ALTER n TYPE bigint", nil)
	require.ErrorContains(t, err, "temporary view pg_temp_")
}

func TestAnOwnerWhoCannotHaveTheNewTableIsNamed(t *testing.T) {
	owner, user := newRole(t, ""), newRole(t, "")
	s := opened(t, "CREATE SCHEMA shop", "CREATE TABLE shop.plain (id int PRIMARY KEY, n int)", "GRANT USAGE ON SCHEMA shop TO "+owner, "ALTER TABLE shop.plain OWNER TO "+owner,
		"GRANT "+owner+" TO "+user, "GRANT USAGE, CREATE ON SCHEMA shop TO "+user)
	database := value[string](t, s, "SELECT current_database()::text")
	execute(t, s, "GRANT CREATE ON DATABASE "+database+" TO "+user)
	theirs := connect(t, database, user)
	_, err := reshape(t, theirs, "shop.plain", "ALTER n TYPE bigint", nil)
	require.ErrorContains(t, err, `GRANT CREATE ON SCHEMA "shop" TO "`+owner+`"`)
	execute(t, s, "GRANT CREATE ON SCHEMA shop TO "+owner)
	require.NoError(t, swap(t, theirs, &engine.Swap{Reshaping: reshaped(t, theirs, "shop.plain", "ALTER n TYPE bigint", nil)}))
	require.Equal(t, owner, value[string](t, s, "SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = 'shop.plain'::regclass"))
}
