package ledger_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// TestLedger runs on one real server of each engine; every scenario has a
// migration of its own.
func TestLedger(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			db := start(t, kind)
			t.Run("TwoWorkersThatOpenItAtOnceMakeItOnce", func(t *testing.T) { openedAtOnce(t, db) })
			store, err := ledger.Open(t.Context(), db, "worker-1")
			require.NoError(t, err)
			for name, scenario := range scenarios {
				t.Run(name, func(t *testing.T) { scenario(t, store, db) })
			}
			if kind != sandbox.Postgres { // where no upgrade is broken off, and every session has a database
				t.Run("AnUpgradeThatWasBrokenOffIsFinished", func(t *testing.T) { brokenUpgrade(t, db) })
				t.Run("ThePrivilegesThatAreNamedAreEnough", func(t *testing.T) { leastPrivileges(t, db) })
				t.Run("ALedgerNeedsADatabaseToBeIn", func(t *testing.T) { noDatabase(t, db) })
				t.Run("TheTablesDoNotDependOnTheServersDefaults", func(t *testing.T) { oddDefaults(t, db) })
			}
		})
	}
}

var scenarios = map[string]func(*testing.T, *ledger.Store, *server){
	"WhatIsWrittenComesBackAsItWas":                    comesBack,
	"AChunkCountsOnceWhenAnotherAttemptHasTakenOver":   zombieChunk,
	"TheSessionOfThePredecessorEnds":                   predecessorEnds,
	"ASecondMigrationOfATableIsRefusedByName":          secondClaim,
	"ManyThatClaimAtOnceLeaveOneHolder":                claimRace,
	"ManyThatTakeOneMigrationAtOnceAllSteerInTurn":     takeRace,
	"MigrationsDoNotWaitForEachOthersClaims":           claimsApart,
	"FruitlessAttemptsAreUsedUpAndProgressGivesNew":    attempts,
	"WhatIsAlreadyDoneIsNotClaimedAgain":               doneIsDone,
	"AnUndoneShardTakesNothingMore":                    fenced,
	"AFencedAttemptCommitsNothingMore":                 fencedOff,
	"FurtherShardsAreAppendedOnce":                     appended,
	"AShardThatWasCommittedAfterAllIsDone":             doneAfterAll,
	"AShardThatIsFinishedWhileItIsClaimedIsDone":       doneWhileClaimed,
	"AFrozenPreflightWritesNothingWhenItWakes":         frozenPreflight,
	"AShardThatKillsItsWorkersFailsInTheEnd":           workerKiller,
	"AnUndoneMigrationsIdCanBeUsedAgain":               reused,
	"AChangedFingerprintSaysWhatChanged":               fingerprints,
	"TextThatPostgresCannotHoldIsStillNoted":           oddText,
	"ALedgerOfANewerVersionIsRefused":                  newer,
	"TimeHeldAddsUpAndIsNotCountedTwice":               heldTime,
	"AReadingIsComparedWithTheFirstOne":                baseline,
	"AnItemThatAnotherAttemptHasMovedOnIsNotMovedOver": itemMoved,
	"APipelinesLaterStepBorrowsAClaimAndGivesItBack":   lentToALaterStep,
	"AnIdWithADotMakesNoPipelineThatLends":             lentByNoName,
	"ClaimsGivenUpAtOnceStayWithNobody":                lentAndGivenUpAtOnce,
}

// begin starts a migration with one table and n shards.
func begin(t *testing.T, store *ledger.Store, n int) *ledger.Ledger {
	t.Helper()
	ctx := context.Background()
	l := store.Migration(t.Name())
	_, err := l.Take(ctx, task.Copy)
	require.NoError(t, err)
	items := []ledger.Item{{No: 1, Name: "public.t", State: "planned", Definition: json.RawMessage(`{"a": 1}`)}}
	require.NoError(t, l.Start(ctx, ledger.Migration{Kind: task.Copy, Name: "test", Spec: json.RawMessage(`{"kind":"copy"}`),
		Fingerprint: ledger.Fingerprint{"the spec": "1"}, Version: "v0"}, []string{t.Name()}, items))
	shards := make([]ledger.Shard, n)
	for i := range shards {
		shards[i] = ledger.Shard{No: i + 1, Table: "public.t", Part: i + 1, Parts: n, RowsEstimate: 10}
	}
	require.NoError(t, l.PlanShards(ctx, task.Transform, shards))
	return l
}

func number(n string) engine.Key { return engine.Key{{Kind: engine.NumberKey, Value: n}} }

func input(shard int) task.ShardInput { return task.ShardInput{Phase: task.Transform, Shard: shard} }

// advance writes a chunk as an attempt does.
func advance(t *testing.T, db *server, lease *ledger.Lease, p ledger.Progress) error {
	t.Helper()
	tx, err := db.Begin(context.Background())
	require.NoError(t, err)
	defer tx.Rollback(context.Background()) //nolint:errcheck // after Commit it does nothing
	if err := lease.Advance(context.Background(), tx, p); err != nil {
		return err
	}
	require.NoError(t, tx.Commit(context.Background()))
	lease.Committed(p)
	return nil
}

func comesBack(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 0)
	key := engine.Key{{Kind: engine.TextKey, Value: "中文 ' \" \\ 😀"}, {Kind: engine.BytesKey, Value: "\x00\xff"}, {Kind: engine.NumberKey, Value: "18446744073709551615"}}
	require.NoError(t, l.PlanShards(ctx, task.Transform, []ledger.Shard{{No: 1, Table: "public.t", Part: 1, Parts: 1,
		Range: engine.Range{After: key}, Definition: json.RawMessage(`{"x": true}`), RowsEstimate: 7}}))
	lease, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.NoError(t, advance(t, db, lease, ledger.Progress{Checkpoint: key, Rows: 3, Bytes: 30, Digest: map[string]int{"rows": 3}}))
	shards, err := l.Shards(ctx, task.Transform)
	require.NoError(t, err)
	require.Len(t, shards, 1)
	require.Equal(t, key, shards[0].Range.After)
	require.Nil(t, shards[0].Range.Until)
	require.Equal(t, key, shards[0].Checkpoint)
	require.EqualValues(t, 3, shards[0].Rows)
	require.JSONEq(t, `{"x": true}`, string(shards[0].Definition))
	require.JSONEq(t, `{"rows": 3}`, string(shards[0].Digest))

	m, err := l.Load(ctx)
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"copy"}`, string(m.Spec))
	require.Equal(t, task.Running, m.State)
	no := 3
	require.NoError(t, l.SetState(ctx, task.Failed, task.Transform, &task.Failure{Class: task.Data, Message: "bad", Shard: &no}))
	m, err = l.Load(ctx)
	require.NoError(t, err)
	require.Equal(t, "bad", m.Error.Message)
	require.NotNil(t, m.EndedAt)
	limit := int64(5)
	require.NoError(t, l.SetThrottle(ctx, task.ThrottleSettings{RowsPerSecond: &limit}))
	set, running, err := l.Throttle(ctx, task.Transform)
	require.NoError(t, err)
	require.Equal(t, 1, running)
	require.EqualValues(t, 5, *set.RowsPerSecond)
	require.NoError(t, l.PutBackup(ctx, db, ledger.Backup{No: 1, BackupItem: task.BackupItem{What: "table", Where: "aside", Bytes: 9, Restore: "move it"}}))
	status, err := l.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, "aside", status.Kept[0].Where)
	require.True(t, status.Attention)
	unknown, err := store.Migration("nobody").Load(ctx)
	require.NoError(t, err)
	require.Nil(t, unknown)
}

func zombieChunk(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 1)
	zombie, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.NoError(t, advance(t, db, zombie, ledger.Progress{Checkpoint: number("10"), Rows: 10}))
	heir, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.Equal(t, number("10"), heir.Checkpoint)
	err = advance(t, db, zombie, ledger.Progress{Checkpoint: number("20"), Rows: 10})
	require.Equal(t, task.Superseded, fault.Of(err).Class)
	require.NoError(t, advance(t, db, heir, ledger.Progress{Checkpoint: number("20"), Rows: 10, Done: true}))
	shards, err := l.Shards(ctx, task.Transform)
	require.NoError(t, err)
	require.EqualValues(t, 20, shards[0].Rows)
	require.Equal(t, ledger.ShardDone, shards[0].State)
	_, err = zombie.Fail(ctx, &task.Failure{Class: task.Data, Message: "too late"}, 3)
	require.Equal(t, task.Superseded, fault.Of(err).Class)
}

func predecessorEnds(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 1)
	conn := db.acquire(t)
	zombie, err := l.ClaimShard(ctx, input(1), conn.session)
	require.NoError(t, err)
	tx, err := conn.begin(ctx)
	require.NoError(t, err)
	require.NoError(t, zombie.Advance(ctx, tx, ledger.Progress{Checkpoint: number("10"), Rows: 10})) // it holds the row's lock now
	heir, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err, "a frozen predecessor does not stand in the way")
	require.Nil(t, heir.Checkpoint)
	require.Error(t, tx.Commit(ctx), "its session is gone")
}

func secondClaim(t *testing.T, store *ledger.Store, _ *server) {
	ctx := context.Background()
	begin(t, store, 1)
	other := store.Migration("other-" + t.Name())
	_, err := other.Take(ctx, task.Copy)
	require.NoError(t, err)
	err = other.Start(ctx, ledger.Migration{Kind: task.Copy, Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{}}, []string{"free", t.Name()}, nil)
	require.ErrorContains(t, err, t.Name()+" is being migrated by "+t.Name())
	require.Equal(t, task.Config, fault.Of(err).Class)
	m, err := other.Load(ctx)
	require.NoError(t, err)
	require.Equal(t, task.Pending, m.State, "nothing of it was written")
	require.NoError(t, store.Migration(t.Name()).Release(ctx))
	require.NoError(t, other.Start(ctx, ledger.Migration{Kind: task.Copy, Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{}}, []string{"free", t.Name()}, nil))
}

func claimRace(t *testing.T, store *ledger.Store, _ *server) {
	ctx := context.Background()
	const rivals = 8
	errs := make([]error, rivals)
	var wg sync.WaitGroup
	for i := range rivals {
		wg.Go(func() {
			l := store.Migration(t.Name() + string(rune('a'+i)))
			if _, errs[i] = l.Take(ctx, task.Copy); errs[i] != nil {
				return
			}
			errs[i] = l.Start(ctx, ledger.Migration{Kind: task.Copy, Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{}}, []string{t.Name()}, nil)
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.ErrorContains(t, err, "is being migrated by")
	}
	require.Equal(t, 1, won)
}

func attempts(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 1)
	lost := &task.Failure{Class: task.Busy, Message: "locked"}
	fail := func(progress bool, f *task.Failure) bool {
		lease, err := l.ClaimShard(ctx, input(1), "")
		require.NoError(t, err)
		if progress {
			require.NoError(t, advance(t, db, lease, ledger.Progress{Rows: 1}))
		}
		exhausted, err := lease.Fail(ctx, f, 3)
		require.NoError(t, err)
		return exhausted
	}
	require.False(t, fail(false, lost))
	require.False(t, fail(false, lost))
	require.False(t, fail(true, lost), "progress gives new attempts")
	require.False(t, fail(false, lost))
	require.True(t, fail(false, lost), "three in a row without progress")
	for range 10 {
		require.False(t, fail(true, &task.Failure{Class: task.Transient, Message: "connection refused"}), "a server that is away is waited for")
	}
	for range 20 {
		require.False(t, fail(false, &task.Failure{Class: task.Transient, Message: "connection refused"}))
	}
	round := input(1)
	round.Round = 1
	lease, err := l.ClaimShard(ctx, round, "")
	require.NoError(t, err)
	require.Zero(t, lease.Fruitless, "a new round gives new attempts")
	require.True(t, fail(false, &task.Failure{Class: task.Data, Message: "bad value"}), "bad data does not get better")
	for range 5 {
		require.False(t, fail(false, &task.Failure{Class: task.Stopping, Message: "worker stops"}), "a stopping worker costs nothing")
	}
}

func doneIsDone(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 2)
	lease, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.NoError(t, advance(t, db, lease, ledger.Progress{Rows: 5, Done: true}))
	again, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.Equal(t, ledger.ShardDone, again.State)
	require.Equal(t, lease.Epoch, again.Epoch)
	require.NoError(t, l.PlanShards(ctx, task.Transform, []ledger.Shard{{No: 1, Table: "x"}}))
	work, err := l.Work(ctx, task.Transform)
	require.NoError(t, err)
	require.Equal(t, 2, work.Shards, "planning again changes nothing")
	require.Equal(t, []int{2}, work.Open)
	require.Equal(t, []string{"public.t 2/2"}, work.Labels)
	require.EqualValues(t, 15, work.RowsTotal)
}

func fenced(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 1)
	lease, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.NoError(t, l.Undo(ctx, db))
	require.Equal(t, task.Superseded, fault.Of(advance(t, db, lease, ledger.Progress{Rows: 1})).Class)
}

func reused(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 2)
	require.NoError(t, l.PutBackup(ctx, db, ledger.Backup{No: 1}))
	require.NoError(t, l.Note(ctx, task.Event{What: "first run"}))
	require.NoError(t, l.SetState(ctx, task.Cancelled, task.Transform, nil))
	m, err := l.Load(ctx)
	require.NoError(t, err)
	require.True(t, m.Undone())
	l = begin(t, store, 1)
	shards, err := l.Shards(ctx, task.Transform)
	require.NoError(t, err)
	require.Len(t, shards, 1)
	backups, err := l.Backups(ctx)
	require.NoError(t, err)
	require.Empty(t, backups)
	events, err := l.Events(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 1, "the audit trail stays")
}

func fingerprints(t *testing.T, _ *ledger.Store, _ *server) {
	f := ledger.Fingerprint{"the spec": "1", "table shop.orders": "a", "table shop.gone": "b"}
	require.NoError(t, f.Compare(ledger.Fingerprint{"the spec": "1", "table shop.orders": "a", "table shop.gone": "b"}))
	err := f.Compare(ledger.Fingerprint{"the spec": "1", "table shop.orders": "x"})
	require.ErrorContains(t, err, "table shop.gone, table shop.orders")
	require.NotContains(t, err.Error(), "the spec")
}

func oddText(t *testing.T, store *ledger.Store, _ *server) {
	ctx := context.Background()
	l := begin(t, store, 0)
	require.NoError(t, l.Note(ctx, task.Event{What: "odd", Detail: "nul \x00 and \xff", Error: &task.Failure{Class: task.Data, Message: "a\x00b"}}))
	events, err := l.Events(ctx, 0, 10)
	require.NoError(t, err)
	require.Equal(t, "nul \ufffd and \ufffd", events[0].Detail)
	require.Equal(t, "a\ufffdb", events[0].Error.Message)
	require.Equal(t, "worker-1", events[0].Owner)
}

func newer(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	_, err := db.Exec(ctx, "insert into "+db.table("schema_version")+" values (99, now())")
	require.NoError(t, err)
	_, err = ledger.Open(ctx, db, "worker")
	require.ErrorContains(t, err, "use the newer Godwit")
	_, err = db.Exec(ctx, "delete from "+db.table("schema_version")+" where version = 99")
	require.NoError(t, err)
}

func itemMoved(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 0)
	require.NoError(t, l.SetItemState(ctx, db, 1, "planned", "ready"))
	require.Equal(t, task.Superseded, fault.Of(l.SetItemState(ctx, db, 1, "planned", "ready")).Class)
	items, err := l.Items(ctx)
	require.NoError(t, err)
	require.Equal(t, "ready", items[0].State)
	require.JSONEq(t, `{"a": 1}`, string(items[0].Definition))
}

// doneAfterAll: the connection was lost at the commit of the last chunk, and
// the server has carried it out.
func doneAfterAll(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 1)
	lease, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	tx, err := db.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, lease.Advance(ctx, tx, ledger.Progress{Rows: 5, Done: true}))
	require.NoError(t, tx.Commit(ctx))
	exhausted, err := lease.Fail(ctx, &task.Failure{Class: task.Transient, Message: "connection lost"}, 3)
	require.NoError(t, err)
	require.False(t, exhausted)
	require.Equal(t, ledger.ShardDone, lease.State)
	require.EqualValues(t, 5, lease.Rows)
	again, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.Equal(t, ledger.ShardDone, again.State, "nothing of it is done again")
}

// doneWhileClaimed: the predecessor commits its last chunk between the
// successor's look and its lock.
func doneWhileClaimed(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 1)
	first, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	tx, err := db.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, first.Advance(ctx, tx, ledger.Progress{Rows: 5, Done: true}))
	claimed := make(chan *ledger.Lease)
	go func() {
		second, err := l.ClaimShard(ctx, input(1), "")
		if err != nil {
			t.Error(err)
		}
		claimed <- second
	}()
	require.Eventually(t, func() bool { return strings.Contains(db.running(t), "for update") }, 30*time.Second, 10*time.Millisecond,
		"the successor waits for the row")
	require.NoError(t, tx.Commit(ctx))
	second := <-claimed
	require.Equal(t, ledger.ShardDone, second.State)
	require.Equal(t, first.Epoch, second.Epoch)
}

func frozenPreflight(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	zombie := store.Migration(t.Name())
	_, err := zombie.Take(ctx, task.Copy)
	require.NoError(t, err)
	l := begin(t, store, 2)
	start := func() error {
		return zombie.Start(ctx, ledger.Migration{Kind: task.Copy, Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{}}, []string{t.Name()}, nil)
	}
	require.Equal(t, task.Superseded, fault.Of(start()).Class)
	shards, err := l.Shards(ctx, task.Transform)
	require.NoError(t, err)
	require.Len(t, shards, 2)
	_, err = l.Take(ctx, task.Copy)
	require.NoError(t, err)
	require.NoError(t, l.Undo(ctx, db))
	require.Equal(t, task.Superseded, fault.Of(start()).Class, "nor after it was undone")
	require.Equal(t, task.Superseded, fault.Of(zombie.SetPhase(ctx, task.Running, task.Backup)).Class)
	require.NoError(t, store.Migration("other-"+t.Name()).CheckClaims(ctx, []string{t.Name()}), "the table is free")
}

func workerKiller(t *testing.T, store *ledger.Store, db *server) {
	ctx := context.Background()
	l := begin(t, store, 1)
	for range 5 {
		_, err := l.ClaimShard(ctx, input(1), "")
		require.NoError(t, err)
	}
	lease, err := l.ClaimShard(ctx, input(1), "")
	require.NoError(t, err)
	require.NoError(t, advance(t, db, lease, ledger.Progress{Rows: 1}))
	for range 9 {
		lease, err = l.ClaimShard(ctx, input(1), "")
		require.NoError(t, err, "progress has made the count begin anew")
	}
	_, err = l.ClaimShard(ctx, input(1), "")
	require.ErrorContains(t, err, "has lost its worker")
	shards, err := l.Shards(ctx, task.Transform)
	require.NoError(t, err)
	require.Equal(t, ledger.ShardFailed, shards[0].State)
	require.NotNil(t, lease)
}
