package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// CheckRead makes sure that the user may read every column of the tables. The
// error names all tables that it may not read, and the grant that is missing.
func (s *Server) CheckRead(ctx context.Context, names []engine.Name) error {
	s.renew() // sessions from before the last grant know nothing of it
	var refused []engine.Name
	for _, name := range names {
		rows, err := s.db.QueryContext(ctx, "SELECT * FROM "+QuoteName(name)+" LIMIT 0")
		if err == nil {
			err = rows.Close()
		}
		switch {
		case err == nil:
		case isDenied(err):
			refused = append(refused, name)
		case number(err) == noSuchTable:
			return fault.About(name.String(), task.Config, "%s: %w (%s)", name, engine.ErrNoTable, err)
		default:
			return fmt.Errorf("try to read %s: %w", name, err)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return s.missingPrivilege(ctx, refused)
}

func (s *Server) missingPrivilege(ctx context.Context, refused []engine.Name) error {
	var user string
	if err := s.db.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&user); err != nil {
		return fmt.Errorf("ask for the current user: %w", err)
	}
	at := strings.LastIndexByte(user, '@')
	account, host := user[:at], user[at+1:]
	var grants, list []string
	for _, name := range refused {
		list = append(list, name.String())
		grants = append(grants, fmt.Sprintf("GRANT SELECT ON %s TO %s@%s;", QuoteName(name), quoteText(account), quoteText(host)))
	}
	return fault.About(refused[0].String(), task.Config, "user %s may not read %s: run %s",
		user, strings.Join(list, ", "), strings.Join(grants, " "))
}

// number returns the number of a server's error, 0 for any other error.
func number(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}
