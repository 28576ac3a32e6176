package sandbox

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
)

const superuser = "godwit"

// User is the name of the superuser that everything here connects as.
func (s *Server) User() string { return superuser }

// Password is the superuser's. It is made for this server alone.
func (s *Server) Password() string { return s.password }

// URL is the address of a database in the form that a Godwit connection takes, with the password in it.
func (s *Server) URL(database string) string { return s.engine.url(s, database) }

// address builds the URLs of both families.
func (s *Server) address(scheme, database, query string) string {
	u := url.URL{Scheme: scheme, User: url.UserPassword(superuser, s.password), Host: s.Addr(), Path: "/" + database, RawQuery: query}
	return u.String()
}

// Exec runs the statements of sql, of which there may be many, in a session of its own. An empty database means none, or
// on PostgreSQL, where there is no such thing, the database postgres. PostgreSQL runs many statements as one transaction,
// unless they say otherwise. Statements are separated as the server itself does it: DELIMITER is a word of the client.
func (s *Server) Exec(ctx context.Context, database, sql string) error {
	if err := s.engine.exec(ctx, s, database, sql); err != nil {
		return fmt.Errorf("%s: %w", s.Kind, err)
	}
	return nil
}

// Client is psql, mariadb or mysql with these arguments, set up to reach this server. The password is passed where other
// users do not see it: in the environment or a file, not among the arguments.
func (s *Server) Client(args ...string) *exec.Cmd { return s.engine.client(s, args) }
