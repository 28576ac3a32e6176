package ledger_test

import (
	"context"
	"encoding/json"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine/mysql"
	"godwit/internal/fault"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

func openedAtOnce(t *testing.T, db *server) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := ledger.Open(t.Context(), db, "worker"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, err := ledger.Look(t.Context(), db)
	require.NoError(t, err)
}

// takeRace: attempts of one new migration that begin in the same moment.
func takeRace(t *testing.T, store *ledger.Store, _ *server) {
	const rivals = 8
	ledgers, errs := make([]*ledger.Ledger, rivals), make([]error, rivals)
	var wg sync.WaitGroup
	for i := range rivals {
		ledgers[i] = store.Migration(t.Name())
		wg.Go(func() { _, errs[i] = ledgers[i].Take(t.Context(), task.Copy) })
	}
	wg.Wait()
	steering := 0
	for i, l := range ledgers {
		require.NoError(t, errs[i])
		if err := l.SetPhase(t.Context(), task.Running, task.Preflight); err == nil {
			steering++
		} else {
			require.Equal(t, task.Superseded, fault.Of(err).Class)
		}
	}
	require.Equal(t, 1, steering)
}

// claimsApart: MySQL locks the rows that a statement looks at, also those that
// are not meant.
func claimsApart(t *testing.T, store *ledger.Store, db *server) {
	frozen, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer frozen.Rollback(context.WithoutCancel(t.Context())) //nolint:errcheck // never fails
	_, err = frozen.Exec(t.Context(), "insert into "+db.table("claim")+" values ('its own', 'a frozen one', now())")
	require.NoError(t, err)
	busy := store.Migration("busy-" + t.Name())
	_, err = busy.Take(t.Context(), task.Copy)
	require.NoError(t, err)
	require.NoError(t, busy.PlanShards(t.Context(), task.Transform, []ledger.Shard{{No: 1, Table: "x"}}))
	lease, err := busy.ClaimShard(t.Context(), input(1), "")
	require.NoError(t, err)
	require.NoError(t, lease.Advance(t.Context(), frozen, ledger.Progress{Rows: 1}))

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	for range 2 { // the second time there are claims and shards to be replaced
		l := begin(t, store, 2)
		require.NoError(t, l.Fence(ctx))
		require.NoError(t, l.Undone(ctx))
		require.NoError(t, l.Release(ctx))
	}
	require.NoError(t, ctx.Err())
}

// fencedOff: a rollback shuts out an attempt that it cannot see.
func fencedOff(t *testing.T, store *ledger.Store, db *server) {
	ctx := t.Context()
	l := begin(t, store, 3)
	zombie, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.NoError(t, advance(t, db, zombie, ledger.Progress{Checkpoint: number("10"), Rows: 10}))
	conn := db.acquire(t)
	frozen, err := l.ClaimShard(ctx, input(2), conn.session)
	require.NoError(t, err)
	tx, err := conn.begin(ctx)
	require.NoError(t, err)
	require.NoError(t, frozen.Advance(ctx, tx, ledger.Progress{Rows: 5})) // it holds the row's lock now
	done, err := l.ClaimShard(ctx, input(3), "")
	require.NoError(t, err)
	require.NoError(t, advance(t, db, done, ledger.Progress{Rows: 7, Done: true}))

	require.NoError(t, l.KillSessions(ctx))
	require.NoError(t, l.Fence(ctx))
	require.Equal(t, task.Superseded, fault.Of(advance(t, db, zombie, ledger.Progress{Rows: 1})).Class)
	require.Error(t, tx.Commit(ctx))
	_, err = zombie.Fail(ctx, &task.Failure{Class: task.Data, Message: "too late"}, 3)
	require.Equal(t, task.Superseded, fault.Of(err).Class)
	shards, err := l.Shards(ctx, task.Transform)
	require.NoError(t, err)
	require.Equal(t, number("10"), shards[0].Checkpoint)
	require.EqualValues(t, 10, shards[0].Rows)
	require.Zero(t, shards[1].Rows)
	require.Equal(t, []ledger.ShardState{ledger.ShardPending, ledger.ShardPending, ledger.ShardDone},
		[]ledger.ShardState{shards[0].State, shards[1].State, shards[2].State})
	require.Equal(t, done.Epoch, shards[2].Epoch)
	require.NoError(t, l.KillSessions(ctx))

	outdated := store.Migration(t.Name())
	_, err = outdated.Load(ctx)
	require.NoError(t, err)
	_, err = l.Take(ctx, task.Copy)
	require.NoError(t, err)
	require.Equal(t, task.Superseded, fault.Of(outdated.Fence(ctx)).Class)
}

// appended: a second pass is planned, by more than one attempt.
func appended(t *testing.T, store *ledger.Store, _ *server) {
	ctx := t.Context()
	l := begin(t, store, 2)
	more := func() []ledger.Shard {
		return []ledger.Shard{{Table: "public.t", Part: 1, Parts: 2, RowsEstimate: 1}, {Table: "public.t", Part: 2, Parts: 2, Definition: json.RawMessage(`{"pass": 2}`)}}
	}
	require.Error(t, l.AppendShards(ctx, task.Transform, 3, more()), "something is missing before them")
	require.NoError(t, l.AppendShards(ctx, task.Transform, 2, more()))
	require.NoError(t, l.AppendShards(ctx, task.Transform, 2, more()[:1]), "an attempt before has planned them")
	shards, err := l.Shards(ctx, task.Transform)
	require.NoError(t, err)
	require.Len(t, shards, 4)
	require.Equal(t, 4, shards[3].No)
	require.JSONEq(t, `{"pass": 2}`, string(shards[3].Definition))
	lease, err := l.ClaimShard(ctx, input(4), "")
	require.NoError(t, err)
	require.Equal(t, 2, lease.Parts)
	require.NoError(t, l.AppendShards(ctx, task.Transform, 4, more()[:1]))
	require.NoError(t, l.AppendShards(ctx, task.Verify, 0, more()[:1]), "another phase has its own")

	outdated := store.Migration(t.Name())
	_, err = outdated.Load(ctx)
	require.NoError(t, err)
	_, err = l.Take(ctx, task.Copy)
	require.NoError(t, err)
	require.Equal(t, task.Superseded, fault.Of(outdated.AppendShards(ctx, task.Transform, 5, more())).Class)
	work, err := l.Work(ctx, task.Transform)
	require.NoError(t, err)
	require.Equal(t, 5, work.Shards)
}

// brokenUpgrade: a worker was killed between two definitions.
func brokenUpgrade(t *testing.T, on *server) {
	db := on.connect(t, "other")
	store, err := ledger.Open(t.Context(), db, "worker")
	require.NoError(t, err)
	begin(t, store, 1)
	tables := db.list(t, "select table_name from information_schema.tables where table_schema = 'other' order by 1")
	indexes := "select concat(table_name, index_name, column_name) from information_schema.statistics where table_schema = 'other' order by 1"
	before := db.list(t, indexes)
	db.run(t, "delete from _godwit_schema_version", "drop table _godwit_claim, _godwit_backup", "drop index event_migration on _godwit_event")
	_, err = ledger.Look(t.Context(), db)
	require.ErrorContains(t, err, "no ledger in this database")
	store, err = ledger.Open(t.Context(), db, "worker")
	require.NoError(t, err)
	require.Equal(t, tables, db.list(t, "select table_name from information_schema.tables where table_schema = 'other' order by 1"))
	require.Equal(t, before, db.list(t, indexes))
	m, err := store.Migration(t.Name()).Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, task.Running, m.State)
}

// leastPrivileges: a user who has what the message names, and before that nothing.
func leastPrivileges(t *testing.T, on *server) {
	on.run(t, "create database least", "create user least identified by 'secret'", "grant select on other.* to least")
	as := *on
	as.user = url.UserPassword("least", "secret")
	on.run(t, "grant select on least.* to least")
	db := as.connect(t, "least")
	_, err := ledger.Open(t.Context(), db, "worker")
	class, known := mysql.Classify(err)
	require.True(t, known)
	require.Equal(t, task.Config, class)

	on.run(t, "grant "+mysql.OwnPrivileges+" on least.* to least")
	store, err := ledger.Open(t.Context(), db, "worker")
	require.NoError(t, err, "without a restart of anything")
	predecessorEnds(t, store, db)
	_, err = ledger.Look(t.Context(), db)
	require.NoError(t, err)
}

func noDatabase(t *testing.T, on *server) {
	db := on.connect(t, "")
	for _, open := range []func() error{
		func() error { _, err := ledger.Open(t.Context(), db, "worker"); return err },
		func() error { _, err := ledger.Look(t.Context(), db); return err },
	} {
		err := open()
		require.ErrorContains(t, err, "names no database")
		require.Equal(t, task.Config, fault.Of(err).Class)
	}
}

func oddDefaults(t *testing.T, on *server) {
	on.run(t, "create database odd character set latin1", "set global default_storage_engine = MyISAM", "set global innodb_default_row_format = compact")
	t.Cleanup(func() {
		require.NoError(t, on.box.Exec(context.Background(), "", "set global default_storage_engine = InnoDB; set global innodb_default_row_format = dynamic"))
	})
	db := on.connect(t, "odd")
	store, err := ledger.Open(t.Context(), db, "worker")
	require.NoError(t, err)
	require.Equal(t, []string{"InnoDB utf8mb4_bin"}, db.list(t, "select distinct concat(engine, ' ', table_collation) from information_schema.tables where table_schema = 'odd'"))
	l := begin(t, store, 1)
	require.NoError(t, l.Note(t.Context(), task.Event{What: "odd", Detail: "中文 😀"}))
	events, err := l.Events(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, "中文 😀", events[0].Detail)
}
