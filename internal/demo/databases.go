package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/go-sql-driver/mysql"

	"godwit/internal/demo/shop"
	"godwit/internal/sandbox"
)

// sourceSettings have enough memory for the shop, and no binary log, which nobody reads here.
var sourceSettings = map[sandbox.Kind]map[string]string{
	sandbox.MariaDB: {"innodb_buffer_pool_size": "256M", "innodb_log_file_size": "256M"},
	sandbox.MySQL:   {"innodb_buffer_pool_size": "256M", "innodb_redo_log_capacity": "512M", "disable_log_bin": ""},
}

// targetSettings keep what is committed when the server is killed, though not when the machine is.
var targetSettings = map[string]string{"synchronous_commit": "on"}

var engineNames = map[sandbox.Kind]string{sandbox.Postgres: "PostgreSQL", sandbox.MariaDB: "MariaDB", sandbox.MySQL: "MySQL"}

// title is what a server is, for people; what its builder has added to the version is left out.
func title(s *sandbox.Server) string {
	return engineNames[s.Kind] + " " + s.Version[:len(s.Version)-len(strings.TrimLeft(s.Version, "0123456789."))]
}

// SourceTitle is what the server that is copied from is.
func (s *Stage) SourceTitle() string { return title(s.Source) }

// TargetTitle is what the server that is copied to is.
func (s *Stage) TargetTitle() string { return title(s.Target) }

func (s *Stage) startSource(ctx context.Context) (err error) {
	s.Source, err = s.startServer(ctx, s.options.Source, sandbox.Options{Databases: []string{sourceDatabase}, Settings: sourceSettings[s.options.Source]})
	return err
}

func (s *Stage) startTarget(ctx context.Context) (err error) {
	s.Target, err = s.startServer(ctx, sandbox.Postgres, sandbox.Options{Databases: []string{targetDatabase}, Settings: targetSettings})
	if err != nil {
		return err
	}
	return s.writeService()
}

func (s *Stage) startServer(ctx context.Context, kind sandbox.Kind, o sandbox.Options) (*sandbox.Server, error) {
	began := time.Now()
	server, err := sandbox.Start(ctx, kind, o)
	if err != nil {
		return nil, err
	}
	s.options.Audience.Ready(title(server), "at "+server.Addr(), time.Since(began))
	return server, nil
}

// seed fills the source's database.
func (s *Stage) seed(ctx context.Context) (err error) {
	config, err := mysql.ParseDSN("/" + sourceDatabase)
	if err != nil {
		return err
	}
	config.User, config.Passwd, config.Net, config.Addr = s.Source.User(), s.Source.Password(), "tcp", s.Source.Addr()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	options := shop.Options{Rows: s.options.Rows, Seed: s.options.Seed, Progress: s.options.Audience.Seeding}
	counts, err := shop.Counts(options)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := shop.Seed(ctx, db, options); err != nil {
		return err
	}
	s.SeedTime = time.Since(began)
	var rows int64
	for _, c := range counts {
		rows += c.Rows
	}
	s.options.Audience.Ready("a shop", fmt.Sprintf("%s rows in %d tables, seed %d", humanize.Comma(rows), len(counts), options.Seed), s.SeedTime)
	return nil
}

// serviceFile is in the stage's folder: it lets psql in without a password on the command line.
const serviceFile = "pg_service.conf"

func (s *Stage) writeService() error {
	text := fmt.Sprintf("[%s]\nhost=127.0.0.1\nport=%d\ndbname=%s\nuser=%s\npassword=%s\n",
		targetDatabase, s.Target.Port, targetDatabase, s.Target.User(), s.Target.Password())
	return os.WriteFile(filepath.Join(s.folder.Path, serviceFile), []byte(text), 0o600)
}

// SourceClient is the command line of a client for the source's database.
func (s *Stage) SourceClient() string {
	return strings.Join(s.Source.Client(sourceDatabase).Args, " ")
}

// TargetClient is the command line of a client for the target's database.
func (s *Stage) TargetClient() string {
	return fmt.Sprintf("PGSERVICEFILE=%s psql service=%s", filepath.Join(s.folder.Path, serviceFile), targetDatabase)
}
