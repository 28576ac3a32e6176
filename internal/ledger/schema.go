package ledger

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/engine/mysql"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Schema is where the ledger's tables are on PostgreSQL.
const Schema = "godwit"

// upgrades are the versions of the ledger's schema, from 1: version n is
// reached by running upgrades[n-1] on version n-1. A published one is never
// changed; a further one is appended.
var upgrades = [][]string{{
	`create table {migration} (
		id {name} not null primary key,
		kind varchar(32) not null,
		name {text} not null,
		spec {json} not null,
		fingerprint {json} not null,
		state varchar(16) not null,
		phase varchar(16) not null,
		throttle {json},
		error {json},
		version varchar(64) not null,
		generation bigint not null,
		started_at {time} not null,
		updated_at {time} not null,
		ended_at {time})`,
	`create table {item} (
		migration {name} not null,
		"no" int not null,
		name {text} not null,
		state varchar(16) not null,
		definition {json} not null,
		primary key (migration, "no"))`,
	`create table {shard} (
		migration {name} not null,
		phase varchar(16) not null,
		"no" int not null,
		"table" {text} not null,
		part int not null,
		parts int not null,
		low {json},
		high {json},
		checkpoint {json},
		definition {json},
		rows_estimate bigint not null,
		"rows" bigint not null default 0,
		bytes bigint not null default 0,
		digest {json},
		state varchar(16) not null,
		attempt int not null default 0,
		fruitless int not null default 0,
		round int not null default 0,
		lost int not null default 0,
		epoch bigint not null default 0,
		owner {text},
		session_id {text},
		error {json},
		started_at {time},
		updated_at {time} not null,
		ended_at {time},
		primary key (migration, phase, "no"))`,
	`create table {event} (
		"no" {serial} primary key,
		migration {name} not null,
		at {time} not null,
		what varchar(64) not null,
		phase varchar(16) not null,
		"table" {text} not null,
		shard int not null,
		attempt int not null,
		duration_ms bigint not null,
		detail {text} not null,
		error {json},
		stack {text} not null,
		owner {text} not null)`,
	`create index event_migration on {event} (migration, "no")`,
	`create table {claim} (
		"table" {name} not null primary key,
		migration {name} not null,
		claimed_at {time} not null)`,
	`create table {backup} (
		migration {name} not null,
		"no" int not null,
		what {text} not null,
		location {text} not null,
		bytes bigint not null,
		"restore" {text} not null,
		state varchar(16) not null,
		created_at {time} not null,
		primary key (migration, "no"))`,
}, {
	`create table {hold} (
		migration {name} not null,
		guard varchar(64) not null,
		held_ms bigint not null,
		times int not null,
		detail {text} not null,
		last_at {time} not null,
		primary key (migration, guard))`,
	`create table {baseline} (
		migration {name} not null,
		reading varchar(128) not null,
		amount bigint not null,
		taken_at {time} not null,
		primary key (migration, reading))`,
}, {
	`create table {lent} (
		"table" {name} not null,
		migration {name} not null,
		lender {name} not null,
		lent_at {time} not null,
		primary key ("table", migration))`,
	`create table {step} (
		migration {name} not null primary key,
		pipeline {name} not null)`,
}}

// ensureSchema creates or upgrades the ledger's tables. Two workers that start
// at once do it one after the other.
func (s *Store) ensureSchema(ctx context.Context) error {
	version, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	if version == len(upgrades) {
		return nil
	}
	return s.db.WithLock(ctx, "godwit ledger", func(ctx context.Context) error {
		if version, err = s.schemaVersion(ctx); err != nil {
			return err
		}
		for n := version; n < len(upgrades); n++ {
			if err := s.upgrade(ctx, n+1); err != nil {
				return fmt.Errorf("cannot upgrade the ledger to version %d: %w", n+1, err)
			}
		}
		return nil
	})
}

// schemaVersion returns 0 when there is no ledger yet, and refuses one that a
// newer Godwit has upgraded.
func (s *Store) schemaVersion(ctx context.Context) (int, error) {
	found, err := s.exists(ctx)
	if err != nil {
		return 0, fmt.Errorf("cannot look for the ledger: %w", err)
	}
	if !found {
		return 0, nil
	}
	var version int
	if err := s.row(ctx, s.db, "select coalesce(max(version), 0) from {schema_version}", nil, &version); err != nil {
		return 0, fmt.Errorf("cannot read the ledger's version: %w", err)
	}
	if version > len(upgrades) {
		return 0, fault.New(task.Config, "the ledger in this database has version %d, and this Godwit knows only %d: use the newer Godwit that upgraded it",
			version, len(upgrades))
	}
	return version, nil
}

// exists reports whether there is a ledger, of whatever version. On MySQL, where
// a session may be in no database at all, that is a fault.
func (s *Store) exists(ctx context.Context) (bool, error) {
	schema, table := Schema, "schema_version"
	if s.db.Dialect() == engine.MySQLDialect {
		var database *string
		if err := s.row(ctx, s.db, "select database()", nil, &database); err != nil {
			return false, err
		}
		if database == nil {
			return false, fault.New(task.Config, "the connection names no database, and the ledger has to be in one: name it in the URL, mysql://…/database")
		}
		schema, table = *database, s.dialect.prefix+table
	}
	var found int
	err := s.row(ctx, s.db, "select count(*) from information_schema.tables where table_schema = ? and table_name = ?", []any{schema, table}, &found)
	return found > 0, err
}

// upgrade goes from one version to the next, on PostgreSQL all or nothing.
// MySQL commits every change of a definition by itself, so what an upgrade
// that was broken off has made is there already and passed over.
func (s *Store) upgrade(ctx context.Context, version int) error {
	if s.db.Dialect() == engine.MySQLDialect {
		return s.reach(ctx, s.db, version)
	}
	return s.transaction(ctx, func(tx engine.Tx) error { return s.reach(ctx, tx, version) })
}

// reach runs what makes a version of the one before.
func (s *Store) reach(ctx context.Context, on engine.Querier, version int) error {
	statements := upgrades[version-1]
	if version == 1 {
		statements = append([]string{"{create_schema}",
			"create table if not exists {schema_version} (version int not null primary key, upgraded_at {time} not null)"}, statements...)
	}
	for _, statement := range statements {
		if err := s.define(ctx, on, statement); err != nil {
			return err
		}
	}
	_, err := s.exec(ctx, on, "insert into {schema_version} (version, upgraded_at) values (?, {now})", version)
	return err
}

// define runs a statement that changes definitions.
func (s *Store) define(ctx context.Context, on engine.Querier, statement string) error {
	if strings.HasPrefix(statement, "create table") {
		statement += s.dialect.options
	}
	if s.dialect.sql(statement) == "" {
		return nil
	}
	_, err := s.exec(ctx, on, statement)
	if mysql.AlreadyThere(err) {
		return nil
	}
	return err
}
