package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
)

// engine is what differs between the kinds: which programs there are, what they are told, and how they are talked to.
// The life of a server is the same for all and is in server.go.
type engine interface {
	// initialise makes the data directory of a new server, with a superuser that has the server's user and password
	// by the time the server first answers.
	initialise(ctx context.Context, s *Server) error
	// command is the server itself, in the foreground.
	command(s *Server) *exec.Cmd
	// stopSignal asks for an orderly end, deathSignal is sent when the starter dies.
	stopSignal() syscall.Signal
	deathSignal() syscall.Signal
	// clear removes what a killed server leaves outside its folder.
	clear(dir string) error

	// version asks the server what it is; it fails until the server answers.
	version(ctx context.Context, s *Server) (string, error)
	exec(ctx context.Context, s *Server, database, sql string) error
	quote(name string) string
	url(s *Server, database string) string
	// client is the engine's command line program, connected to the server.
	client(s *Server, args []string) *exec.Cmd
}

// find looks the engine's programs up; it fails with a *MissingError.
func find(kind Kind) (engine, error) {
	if unmet := requirements(kind); len(unmet) > 0 {
		return nil, &MissingError{Requirements: unmet}
	}
	switch kind {
	case Postgres:
		return findPostgres()
	case MariaDB:
		return findMariaDB(), nil
	case MySQL:
		return findMySQL(), nil
	default:
		return nil, fmt.Errorf("no sandbox for %q: there are %v", kind, Kinds())
	}
}
