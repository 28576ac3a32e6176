package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// Dependents lists what else in the database refers to a table: what follows
// it when it is moved aside, and stands in the way when it is dropped. Its own
// indexes, constraints, triggers and owned sequences are not among them, nor
// are foreign keys of tables that share its fate (together).
func (s *Server) Dependents(ctx context.Context, name engine.Name, together ...engine.Name) ([]string, error) {
	oid, err := tableOID(ctx, s.on, name)
	if err != nil {
		return nil, err
	}
	schemas, tables := make([]string, len(together)), make([]string, len(together))
	for i, other := range together {
		schemas[i], tables[i] = other.Schema, other.Table
	}
	rows, err := s.on.Query(ctx, dependents, oid, schemas, tables)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// dependents looks for references to the table, its row type or a sequence it
// owns. $1 is the table's oid, $2 and $3 are schemas and names of tables whose
// foreign keys do not count.
const dependents = `
WITH subject (classid, objid) AS (
	SELECT 'pg_class'::regclass::oid, $1::oid
	UNION ALL SELECT 'pg_type'::regclass, t.oid FROM pg_type t WHERE t.typrelid = $1
	UNION ALL SELECT 'pg_type'::regclass, t.typarray FROM pg_type t WHERE t.typrelid = $1 AND t.typarray <> 0
	UNION ALL SELECT d.classid, d.objid FROM pg_depend d
		WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
), reference AS (
	SELECT DISTINCT d.classid, d.objid, d.objsubid FROM pg_depend d JOIN subject s ON d.refclassid = s.classid AND d.refobjid = s.objid
)
SELECT CASE c.relkind WHEN 'm' THEN 'materialized view ' WHEN 'v' THEN 'view ' ELSE 'a rule on table ' END || n.nspname || '.' || c.relname AS thing
	FROM reference d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
	JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid <> $1
UNION
SELECT 'foreign key ' || k.conname || ' of table ' || n.nspname || '.' || c.relname
	FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE k.contype = 'f' AND k.confrelid = $1 AND k.conrelid <> $1 AND k.conparentid = 0
		AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::text[]) together (schema_name, table_name) WHERE schema_name = n.nspname AND table_name = c.relname)
UNION
SELECT 'function ' || n.nspname || '.' || p.proname
	FROM reference d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid JOIN pg_namespace n ON n.oid = p.pronamespace
UNION
SELECT 'default of column ' || n.nspname || '.' || c.relname || '.' || a.attname
	FROM reference d JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
	JOIN pg_class c ON c.oid = f.adrelid JOIN pg_namespace n ON n.oid = c.relnamespace
	JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = f.adnum WHERE c.oid <> $1
UNION
SELECT 'column ' || n.nspname || '.' || c.relname || '.' || a.attname || ', whose type is the table''s rows'
	FROM pg_type t JOIN pg_attribute a ON a.atttypid IN (t.oid, t.typarray) AND a.attnum > 0 AND NOT a.attisdropped
	JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'm', 'f') JOIN pg_namespace n ON n.oid = c.relnamespace WHERE t.typrelid = $1
UNION
SELECT 'policy ' || l.polname || ' of table ' || n.nspname || '.' || c.relname
	FROM reference d JOIN pg_policy l ON d.classid = 'pg_policy'::regclass AND l.oid = d.objid
	JOIN pg_class c ON c.oid = l.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid <> $1
UNION
SELECT CASE WHEN c.relispartition THEN 'partition ' ELSE 'inheriting table ' END || n.nspname || '.' || c.relname
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE i.inhparent = $1
UNION
SELECT CASE WHEN child.relispartition THEN 'partitioned table ' ELSE 'inherited table ' END || n.nspname || '.' || c.relname
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_class child ON child.oid = i.inhrelid
	WHERE i.inhrelid = $1
UNION
SELECT 'publication ' || p.pubname FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = $1
ORDER BY thing`
