package chaos

import (
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// catalog asks PostgreSQL for everything that a migration could have left or
// taken away, one text for each thing, in all schemas but Godwit's own.
const catalog = `
WITH mine AS (SELECT oid, nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'godwit')),
relations AS (SELECT c.*, format('%I.%I', nspname, relname) AS name FROM pg_class c JOIN mine ON mine.oid = relnamespace)
SELECT format('schema %s %s %s', nspname, nspowner::regrole, nspacl) FROM pg_namespace JOIN mine USING (oid, nspname)
UNION ALL SELECT format('relation %s %s %s %s %s %s %s %s', name, oid, relkind, relowner::regrole, relacl, reloptions, relpersistence, obj_description(oid)) FROM relations
UNION ALL SELECT format('column %s.%s %s %s %s %s %s %s %s', name, attname, attnum, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
	pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
	FROM relations JOIN pg_attribute a ON attrelid = relations.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attnum > 0 AND NOT attisdropped
UNION ALL SELECT format('constraint %s %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated) FROM pg_constraint WHERE connamespace IN (SELECT oid FROM mine)
UNION ALL SELECT format('index %s %s %s', pg_get_indexdef(indexrelid), indisvalid, indisready) FROM pg_index JOIN relations ON relations.oid = indrelid
UNION ALL SELECT format('trigger %s %s', pg_get_triggerdef(t.oid), tgenabled) FROM pg_trigger t JOIN relations ON relations.oid = tgrelid WHERE NOT tgisinternal
UNION ALL SELECT format('function %s', p.oid::regprocedure) FROM pg_proc p JOIN mine ON mine.oid = pronamespace
UNION ALL SELECT format('type %s', t.oid::regtype) FROM pg_type t JOIN mine ON mine.oid = typnamespace
UNION ALL SELECT format('sequence %s.%s %s %s %s', schemaname, sequencename, start_value, increment_by, last_value) FROM pg_sequences JOIN mine ON nspname = schemaname
UNION ALL SELECT format('large object %s', oid) FROM pg_largeobject_metadata
ORDER BY 1`

// snapshot is everything about the target but Godwit's own tables: its catalog
// and all rows, with their order of no importance.
func (s *stage) snapshot() []string {
	s.t.Helper()
	found := ask(s, pgx.RowTo[string], catalog)
	tables := ask(s, pgx.RowTo[string], `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
		WHERE schemaname !~ '^pg_' AND schemaname NOT IN ('information_schema', 'godwit') ORDER BY 1`)
	for _, table := range tables {
		found = append(found, "rows of "+table+": "+one[string](s, `SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, E'\n' ORDER BY t::text COLLATE "C")), '') FROM `+table+` t`))
	}
	return found
}

// sourceSnapshot is everything about the source's database that a migration
// could have changed.
func (s *stage) sourceSnapshot() string {
	s.t.Helper()
	var b strings.Builder
	tables := strings.Split(s.askSource("SHOW TABLES"), "\n")
	require.NotEmpty(s.t, tables)
	for _, table := range tables {
		b.WriteString(s.askSource("SHOW CREATE TABLE `"+table+"`") + "\n" + s.askSource("CHECKSUM TABLE `"+table+"`") + "\n")
	}
	for _, query := range []string{"SHOW TRIGGERS", "SHOW EVENTS", "SHOW PROCEDURE STATUS WHERE Db = DATABASE()", "SHOW DATABASES LIKE '%godwit%'"} {
		b.WriteString(s.askSource(query) + "\n")
	}
	return b.String()
}

// hasLetGo checks that nothing of a migration that ended is left at work.
func (m *migration) hasLetGo() {
	m.t.Helper()
	require.Zero(m.t, one[int](m.stage, "SELECT count(*) FROM godwit.claim WHERE migration = $1", m.id), "claims")
	require.Zero(m.t, one[int](m.stage, "SELECT count(*) FROM godwit.shard WHERE migration = $1 AND state = 'running'", m.id), "shards at work")
	require.Zero(m.t, one[int](m.stage, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		AND application_name LIKE 'godwit%' AND state <> 'idle' AND pid <> pg_backend_pid()`), "transactions")
}
