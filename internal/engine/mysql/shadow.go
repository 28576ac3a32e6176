package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// The suffixes of the tables beside the one that is written anew.
const (
	shadowSuffix = "__gw_new"
	oldSuffix    = "__gw_old"
)

// shadowMode is the sql_mode in which a shadow is made: defaults of the
// application's may be dates that a stricter one refuses.
const shadowMode = "STRICT_ALL_TABLES," + captureMode

// sentryComment is how a sentry is told from a table of rows.
const sentryComment = "Godwit: keeps a name free, and may be dropped"

// look finds out which tables there are. A sentry is none of them.
func (s *Server) look(ctx context.Context, r *engine.Reshaping) (found map[string]bool, sentries []engine.Name, err error) {
	found = map[string]bool{}
	names := []engine.Name{r.Table.Name, r.Shadow, r.Old}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = quoteText(n.Table)
	}
	err = collect(ctx, s.db, func(rows *sql.Rows) error {
		var name, comment string
		if err := rows.Scan(&name, &comment); err != nil {
			return err
		}
		// The server may have found a name that differs in capitals.
		i := slices.IndexFunc(names, func(n engine.Name) bool { return n.Table == name })
		switch {
		case i >= 0 && comment == sentryComment:
			sentries = append(sentries, names[i])
		case i >= 0:
			found[name] = true
		}
		return nil
	}, "SELECT TABLE_NAME, COALESCE(TABLE_COMMENT, '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN ("+strings.Join(list, ", ")+")", r.Table.Name.Schema)
	if err != nil {
		return nil, nil, fmt.Errorf("look which tables there are beside %s: %w", r.Table.Name, err)
	}
	return found, sentries, nil
}

// Stand looks which of the tables there are.
func (s *Server) Stand(ctx context.Context, r *engine.Reshaping) (engine.Stand, error) {
	found, _, err := s.look(ctx, r)
	if err != nil {
		return "", err
	}
	table, shadow, old := found[r.Table.Name.Table], found[r.Shadow.Table], found[r.Old.Table]
	switch {
	case !table:
		return "", fault.About(r.Table.Name.String(), task.Human, "there is no table %s any more", r.Table.Name)
	case shadow && old:
		return "", fault.About(r.Table.Name.String(), task.Human, "both %s and %s are there: one of them was made, or renamed, by somebody else; look which is which, and drop it", r.Shadow, r.Old)
	case shadow:
		return engine.StandBeside, nil
	case old:
		return engine.StandSwapped, nil
	}
	return engine.StandAlone, nil
}

// halfMade begins the names under which shadows of a table are made.
func halfMade(table engine.Name) string {
	return fmt.Sprintf("_godwit_new_%016x_", xxh3.HashString(table.Schema+"\x00"+table.Table))
}

// CreateShadow makes the shadow, empty. It gets its name when it is finished.
func (s *Server) CreateShadow(ctx context.Context, r *engine.Reshaping) error {
	found, _, err := s.look(ctx, r)
	if err != nil || found[r.Shadow.Table] {
		return err
	}
	return s.impatiently(ctx, func(conn *sql.Conn) error {
		made := engine.Name{Schema: r.Shadow.Schema, Table: halfMade(r.Table.Name) + strings.ToLower(rand.Text())[:8]}
		statements := append([]string{"SET SESSION sql_mode = '" + shadowMode + "'"}, renamed(r, made)...)
		statements = append(statements, "RENAME TABLE "+QuoteName(made)+" TO "+QuoteName(r.Shadow))
		for _, statement := range statements {
			_, err := conn.ExecContext(ctx, statement)
			if number(err) == tableExists {
				return s.dropTable(ctx, made) // another attempt was faster
			}
			if err != nil {
				return fmt.Errorf("make the shadow of %s: %w", r.Table.Name, err)
			}
		}
		return nil
	})
}

// tableExists is the error for a table that there is already.
const tableExists = 1050

// renamed writes the statements that make the shadow for another name of it.
func renamed(r *engine.Reshaping, made engine.Name) []string {
	list := make([]string, len(r.Create))
	for i, statement := range r.Create {
		for _, verb := range []string{"CREATE TABLE ", "ALTER TABLE "} {
			if rest, found := strings.CutPrefix(statement, verb+QuoteName(r.Shadow)+" "); found {
				statement = verb + QuoteName(made) + " " + strings.ReplaceAll(rest, checkOf(r.Shadow.Table), checkOf(made.Table))
			}
		}
		list[i] = statement
	}
	return list
}

// checkOf begins the quoted names that MySQL gives to a table's checks.
func checkOf(table string) string { return strings.TrimSuffix(Quote(table+"_chk_"), "`") }

func (s *Server) dropTable(ctx context.Context, name engine.Name) error {
	return s.impatiently(ctx, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+QuoteName(name))
		if err != nil {
			return fmt.Errorf("drop %s: %w", name, err)
		}
		return nil
	})
}

// DropBeside drops one of the tables beside the one in use, what was left half
// made of it, and sentries. Whoever is about to change the names is ended before.
func (s *Server) DropBeside(ctx context.Context, r *engine.Reshaping, name engine.Name) error {
	if name != r.Shadow && name != r.Old {
		return fault.About(name.String(), task.Internal, "%s is not beside %s", name, r.Table.Name)
	}
	if err := s.endSwapper(ctx, r.Table.Name); err != nil {
		return err
	}
	left := []engine.Name{name}
	if err := collect(ctx, s.db, func(rows *sql.Rows) error {
		n := engine.Name{Schema: r.Table.Name.Schema}
		err := rows.Scan(&n.Table)
		left = append(left, n)
		return err
	}, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND LEFT(TABLE_NAME, ?) = ?", r.Table.Name.Schema, len(halfMade(r.Table.Name)), halfMade(r.Table.Name)); err != nil {
		return fmt.Errorf("look for what was left of %s: %w", name, err)
	}
	for _, n := range left {
		if err := s.dropTable(ctx, n); err != nil {
			return err
		}
	}
	return s.dropSentries(ctx, r)
}

// dropSentries drops the sentries that there are.
func (s *Server) dropSentries(ctx context.Context, r *engine.Reshaping) error {
	_, sentries, err := s.look(ctx, r)
	if err != nil {
		return err
	}
	for _, name := range sentries {
		if err := s.dropTable(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Settle removes a sentry that was left. There is nothing else to be done.
func (s *Server) Settle(ctx context.Context, r *engine.Reshaping, _ bool) error {
	return s.dropSentries(ctx, r)
}

// Freshen has nothing to make anew: what hangs on a table goes by its name, and
// what does not is refused by Swap.
func (s *Server) Freshen(_ context.Context, _ *engine.Reshape, r *engine.Reshaping) (*engine.Reshaping, error) {
	return r, nil
}

// Hanging is nothing: what hangs on a table goes by its name.
func (s *Server) Hanging(context.Context, engine.Name) (engine.Shape, error) { return nil, nil }

// FreshenShadow makes the server count the shadow's rows and values.
func (s *Server) FreshenShadow(ctx context.Context, r *engine.Reshaping) error {
	return collect(ctx, s.db, func(rows *sql.Rows) error {
		var table, op, kind, text string
		if err := rows.Scan(&table, &op, &kind, &text); err != nil {
			return err
		}
		if strings.EqualFold(kind, "error") {
			return fmt.Errorf("analyze %s: %s", r.Shadow, text)
		}
		return nil
	}, "ANALYZE LOCAL TABLE "+QuoteName(r.Shadow))
}
