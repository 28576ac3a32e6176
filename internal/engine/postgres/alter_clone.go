package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// clone is an empty temporary table that is like another one and has its name,
// in a transaction that is rolled back. The server tells, in the messages that
// it has for its own developers, what an ALTER of it does.
type clone struct {
	conn *pgx.Conn
	tx   pgx.Tx
	of   engine.Name
	name engine.Name // with its temporary schema
	oid  uint32
	said []string // what the server said since the last look
}

// withClone calls f with a clone of the table. Nothing of it stays.
func (s *Server) withClone(ctx context.Context, t *engine.Table, f func(c *clone) error) error {
	c := &clone{of: t.Name}
	if err := c.connect(ctx, s); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		_ = c.conn.Close(ctx) // and with it the transaction
	}()
	if err := c.make(ctx); err != nil {
		return err
	}
	return f(c)
}

// SweepClones has nothing to do: a clone ends with its session.
func (s *Server) SweepClones(context.Context) error { return nil }

// connect opens a session of its own, since what the server says is heard by
// those who were there from a session's beginning.
func (c *clone) connect(ctx context.Context, s *Server) error {
	pool := s.pool.Config()
	config := pool.ConnConfig
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.said = append(c.said, n.Message) }
	if pool.BeforeConnect != nil {
		if err := pool.BeforeConnect(ctx, config); err != nil {
			return err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	c.conn = conn
	if pool.AfterConnect != nil {
		err = pool.AfterConnect(ctx, conn)
	}
	if err == nil {
		c.tx, err = conn.Begin(ctx)
	}
	if err != nil {
		_ = conn.Close(ctx)
	}
	return err
}

// make makes the clone: LIKE gives it the columns and checks, and its indexes
// get the names that they have.
func (c *clone) make(ctx context.Context) error {
	var oid uint32
	if err := c.tx.QueryRow(ctx, "SELECT set_config('lock_timeout', '2s', true), "+QuoteLiteral(QuoteName(c.of))+"::regclass::oid").Scan(nil, &oid); err != nil {
		return err
	}
	_, err := c.tx.Exec(ctx, "CREATE TEMPORARY TABLE "+Quote(c.of.Table)+" (LIKE "+QuoteName(c.of)+" INCLUDING ALL EXCLUDING INDEXES) ON COMMIT DROP")
	if sqlState(err) == insufficientPrivilege {
		return fault.About(c.of.String(), task.Config, "cannot make a temporary table like %s, on which the ALTER is tried: GRANT TEMPORARY ON DATABASE and SELECT ON %s to this user: %w",
			c.of, QuoteName(c.of), err)
	}
	if err != nil {
		return err
	}
	c.name.Table = c.of.Table
	if err := c.tx.QueryRow(ctx, "SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()").Scan(&c.name.Schema); err != nil {
		return err
	}
	if c.oid, err = tableOID(ctx, c.tx, c.name); err != nil {
		return err
	}
	rows, err := c.tx.Query(ctx, `SELECT CASE WHEN k.oid IS NOT NULL
			THEN 'ALTER TABLE ' || $2 || ' ADD CONSTRAINT ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid)
			ELSE regexp_replace(pg_get_indexdef(x.indexrelid), ' ON (ONLY )?' || $3 || ' USING ', ' ON ' || $2 || ' USING ') END
		FROM pg_index x LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.conrelid = x.indrelid AND k.contype IN ('p', 'u', 'x')
		WHERE x.indrelid = $1 AND x.indisvalid ORDER BY x.indexrelid`, oid, QuoteName(c.name), regexpQuoted(c.of))
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := c.tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make an empty table like %s: %w", c.of, err)
		}
	}
	_, err = c.tx.Exec(ctx, "SET LOCAL client_min_messages = debug1")
	return err
}

// regexpQuoted is a table's name as the server writes it, quoted or not, as a
// regular expression of the server's.
func regexpQuoted(name engine.Name) string {
	part := func(ident string) string {
		var b strings.Builder
		for _, r := range ident {
			if strings.ContainsRune(`\.[]{}()*+?^$|`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			if r == '"' {
				b.WriteRune(r)
			}
		}
		return `"?` + b.String() + `"?`
	}
	return part(name.Schema) + `\.` + part(name.Table)
}

// within runs f between a savepoint and the return to it.
func (c *clone) within(ctx context.Context, f func() error) error {
	if _, err := c.tx.Exec(ctx, "SAVEPOINT clone"); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	_, err := c.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT clone")
	return err
}

// run runs a statement about the clone and returns what it would do to a table
// with rows; nothing, when it is about the catalog alone.
func (c *clone) run(ctx context.Context, statement string) (doing string, err error) {
	before, err := c.file(ctx)
	if err != nil {
		return "", err
	}
	var said []string
	if err := c.asUser(ctx, func() error {
		c.said = nil
		_, err := c.tx.Exec(ctx, statement)
		said = c.said
		return err
	}); err != nil {
		return "", err
	}
	after, err := c.file(ctx)
	if err != nil {
		return "", err
	}
	if before != after {
		return "writes the whole table anew", nil
	}
	return effect(said, c.name.Table), nil
}

// file is the file in which the rows are: another one when they are written anew.
func (c *clone) file(ctx context.Context) (file uint32, err error) {
	err = c.tx.QueryRow(ctx, "SELECT coalesce(pg_relation_filenode($1::oid), 0)", c.oid).Scan(&file)
	return file, err
}

// effect is what the server's messages say of a table.
func effect(said []string, table string) string {
	for _, known := range []struct{ message, means string }{
		{`rewriting table "` + table + `"`, "writes the whole table anew"},
		{`verifying table "` + table + `"`, "reads the whole table"},
	} {
		for _, message := range said {
			if message == known.message {
				return known.means
			}
		}
	}
	for _, message := range said {
		if strings.HasPrefix(message, "building index ") && strings.Contains(message, ` on table "`+table+`"`) {
			return "builds an index"
		}
	}
	return ""
}

// describe describes the clone as it is now.
func (c *clone) describe(ctx context.Context) (*engine.Table, error) {
	return describeTable(ctx, c.tx, c.name)
}
