package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// triedTable begins the names of the clones.
const triedTable = "_godwit_try_"

const instantly = "INSTANT"

// The errors by which a server says that it cannot do it in the way that was asked for.
var unsupported = []uint16{1845, 1846}

// clone is an empty table that is like another one.
type clone struct {
	conn *sql.Conn
	name engine.Name
}

// withClone calls f with a clone of the table, in the connection's database, and
// drops it whatever comes of that. Clones of workers that were killed are dropped, too.
func (s *Server) withClone(ctx context.Context, t *engine.Table, f func(ctx context.Context, c *clone) error) error {
	return s.impatiently(ctx, func(conn *sql.Conn) (err error) {
		if err := s.sweep(ctx, conn); err != nil {
			return err
		}
		c := &clone{conn: conn, name: engine.Name{Table: triedTable + strings.ToLower(rand.Text())}}
		if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&c.name.Schema); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
			defer cancel()
			// The connection may be what was lost.
			if _, dropped := s.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+QuoteName(c.name)); err == nil {
				err = dropped
			}
		}()
		_, err = conn.ExecContext(ctx, "CREATE TABLE "+QuoteName(c.name)+" LIKE "+QuoteName(t.Name))
		if isDenied(err) {
			return fault.About(t.Name.String(), task.Config, "cannot make an empty clone of %s, on which the ALTER is tried: GRANT CREATE, ALTER, INSERT, DROP ON %s.* to this user: %w",
				t.Name, Quote(c.name.Schema), err)
		}
		if err != nil {
			return err
		}
		return f(ctx, c)
	})
}

// SweepClones drops the clones that a worker has left which was killed while it
// tried an ALTER. Those of others that are just being tried are younger.
func (s *Server) SweepClones(ctx context.Context) error {
	return s.impatiently(ctx, func(conn *sql.Conn) error { return s.sweep(ctx, conn) })
}

func (s *Server) sweep(ctx context.Context, conn *sql.Conn) error {
	var left []string
	if err := collect(ctx, conn, func(rows *sql.Rows) error {
		left = append(left, "")
		return rows.Scan(&left[len(left)-1])
	}, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND LEFT(TABLE_NAME, ?) = ? AND CREATE_TIME < NOW() - INTERVAL 10 SECOND",
		len(triedTable), triedTable); err != nil {
		return err
	}
	for _, name := range left {
		if _, err := conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+Quote(name)); err != nil {
			return err
		}
	}
	return nil
}

// impatiently runs f with a session that does not wait long for locks.
func (s *Server) impatiently(ctx context.Context, f func(conn *sql.Conn) error) error {
	if _, _, err := s.learn(ctx); err != nil {
		return err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	own := &session{conn: conn}
	defer own.cut() // its settings are not those of the pool's other sessions
	for _, statement := range s.Impatient(2, 2) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return f(conn)
}

// try tries the ALTER on the clone, in the cheapest way first.
func (p *alterPlan) try(ctx context.Context, c *clone) (err error) {
	if p.before, err = p.server.Table(ctx, c.name); err != nil {
		return err
	}
	ways := []string{instantly, "INPLACE, LOCK=NONE"}
	if p.server.known() == mariadbFlavor {
		ways = []string{instantly, "NOCOPY, LOCK=NONE", "INPLACE, LOCK=NONE"}
	}
	for _, way := range ways {
		done, err := p.tryWay(ctx, c, way)
		if err != nil {
			return err
		}
		if done {
			p.algorithm = way
			p.after, err = p.server.Table(ctx, c.name)
			return err
		}
	}
	return nil
}

func (p *alterPlan) tryWay(ctx context.Context, c *clone, way string) (done bool, err error) {
	tables, indexes, seen, err := p.server.stored(ctx, c)
	if err != nil {
		return false, err
	}
	_, err = c.conn.ExecContext(ctx, "ALTER TABLE "+QuoteName(c.name)+" "+p.alter+"\n, ALGORITHM="+way)
	switch class, _ := Classify(err); {
	case slices.Contains(unsupported, number(err)):
		p.refusal = "it does not make this change in place"
		if m := reason.FindStringSubmatch(err.Error()); m != nil {
			p.refusal = m[1]
		}
		return false, nil
	case number(err) != 0 && class != task.Busy:
		return false, fault.About(p.table.Name.String(), task.Config, "alter: the server refuses %q: %w", p.alter, err)
	case err != nil:
		return false, err
	case way == instantly:
		return true, nil
	case !seen:
		p.builds = "may build something beside the writers (whether it does is not shown to this user: GRANT PROCESS to it)"
		return true, nil
	}
	newTables, newIndexes, _, err := p.server.stored(ctx, c)
	switch {
	case err != nil:
		return false, err
	case !contains(tables, newTables):
		p.builds = "writes the table anew, beside its writers"
	case !contains(indexes, newIndexes):
		p.builds = "builds an index, beside the writers"
	}
	return true, nil
}

func contains(all, some []uint64) bool {
	return !slices.ContainsFunc(some, func(id uint64) bool { return !slices.Contains(all, id) })
}

// stored are the numbers by which the storage engine knows what a clone is
// stored in: new ones are of what was written anew. They are not shown to everybody.
func (s *Server) stored(ctx context.Context, c *clone) (tables, indexes []uint64, seen bool, err error) {
	prefix := "INNODB_"
	if s.known() == mariadbFlavor {
		prefix = "INNODB_SYS_"
	}
	read := func(into *[]uint64, query string) error {
		return collect(ctx, c.conn, func(rows *sql.Rows) error {
			*into = append(*into, 0)
			return rows.Scan(&(*into)[len(*into)-1])
		}, query, "/"+c.name.Table)
	}
	from := "information_schema." + prefix + "TABLES t"
	err = read(&tables, "SELECT t.TABLE_ID FROM "+from+" WHERE LOCATE(?, t.NAME) > 0")
	if err == nil {
		err = read(&indexes, "SELECT i.INDEX_ID FROM "+from+" JOIN information_schema."+prefix+"INDEXES i ON i.TABLE_ID = t.TABLE_ID WHERE LOCATE(?, t.NAME) > 0")
	}
	switch {
	case isDenied(err):
		return nil, nil, false, nil
	case err != nil:
		return nil, nil, false, fmt.Errorf("look how %s is stored: %w", c.name, err)
	}
	return tables, indexes, len(tables) > 0, nil
}
