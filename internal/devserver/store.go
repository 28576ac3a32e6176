package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema/sqlite"
)

// store is the open SQLite database.
type store struct {
	config *config.SQL
	lock   *os.File // nil for a database in memory
}

// filePragmas are the settings of a database file. With a write-ahead log, a commit costs a third of what it costs with
// the rollback journal, and is as safe when the process is killed; after a power cut, the last moments may be missing
// (--sqlite-pragma synchronous=full prevents that) but the file is sound.
var filePragmas = map[string]string{"journal_mode": "wal", "synchronous": "normal", "busy_timeout": "10000"}

// openStore opens the database, makes it where it does not exist yet, and adds the namespaces that it lacks.
func openStore(o *options) (*store, error) {
	if o.dbFile == "" {
		s := &store{config: sqlConfig("godwit-"+uuid.NewString(), map[string]string{"mode": "memory", "cache": "shared"}, o.pragmas)}
		return s, createNamespaces(s.config, o)
	}
	if err := createFile(o.dbFile); err != nil {
		return nil, fmt.Errorf("create the database file %s: %w", o.dbFile, err)
	}
	lock, err := lockFile(o.dbFile)
	if err != nil {
		return nil, err
	}
	s := &store{config: sqlConfig(o.dbFile, map[string]string{"mode": "rwc"}, filePragmas, o.pragmas), lock: lock}
	if err := createNamespaces(s.config, o); err != nil {
		return nil, fmt.Errorf("open the database file %s: %w", o.dbFile, err)
	}
	return s, nil
}

// close moves what is in the write-ahead log into the file, so that the file alone can be copied. Call it when the
// server has stopped.
func (s *store) close() error {
	if s.lock == nil {
		return nil
	}
	db, err := sql.NewSQLAdminDB(sqlplugin.DbKindUnknown, s.config, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("close the database file: %w", err)
	}
	return errors.Join(db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"), db.Close(), s.lock.Close())
}

// createFile makes a missing database under another name and renames it when it is complete, so that being killed in
// between leaves no half-made one.
func createFile(file string) error {
	if info, err := os.Stat(file); err == nil && info.Size() > 0 {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(file), filepath.Base(file)+".unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	draft := filepath.Join(unfinished, "db")
	if err := sqlite.SetupSchema(sqlConfig(draft, map[string]string{"mode": "rwc"})); err != nil {
		return err
	}
	return os.Rename(draft, file)
}

// lockFile keeps a second server away from the same file: both would believe that they own its history shard. The
// kernel lets the lock go however the process ends.
func lockFile(file string) (*os.File, error) {
	lock, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("the database file %s is in use by another godwit-devserver: stop that one, or choose another file with --db-filename", file)
	}
	return lock, nil
}

// sqlConfig merges the settings; a later one wins.
func sqlConfig(name string, settings ...map[string]string) *config.SQL {
	attributes := map[string]string{}
	for _, more := range settings {
		maps.Copy(attributes, more)
	}
	return &config.SQL{
		PluginName:        sqliteplugin.PluginName,
		DatabaseName:      strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(name), // it becomes part of a URI
		ConnectAttributes: attributes,
	}
}

// createNamespaces makes those that are missing, with the search attributes that are asked for; existing ones stay.
func createNamespaces(cfg *config.SQL, o *options) error {
	for _, name := range o.namespaces {
		namespace, err := sqlite.NewNamespaceConfig(clusterName, name, false, o.searchAttributes)
		if err != nil {
			return err
		}
		if err := sqlite.CreateNamespaces(cfg, namespace); err != nil {
			return err
		}
	}
	return nil
}
