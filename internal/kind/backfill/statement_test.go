package backfill

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestAPurgeDeletesRangeByRange(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(5000)
		for i, condition := range []string{":range", "id BETWEEN :low AND :high"} {
			statement := fmt.Sprintf("DELETE FROM %s WHERE %s AND country = '%s'", r.table("orders"), condition, []string{"CN", "JP"}[i])
			j := r.job(fmt.Sprint("purge", i), fmt.Sprintf("statement: %q\nshards: {rows: 1000}\nchunks: {rows: 300}\ncheck: {query: %q}\n", statement,
				fmt.Sprintf("SELECT count(*) FROM %s WHERE country = '%s'", r.table("orders"), []string{"CN", "JP"}[i])))
			j.all()
			j.cleanup()
		}
		require.Equal(t, "1667", r.ask("SELECT count(*) FROM "+r.table("orders")))
	})
}

func TestRowsAreMovedToAnArchiveAllOfThemAndEachOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(5000)
		r.exec("CREATE TABLE " + r.table("archive") + " (id bigint NOT NULL PRIMARY KEY, country varchar(2) NOT NULL, region varchar(8), balance bigint NOT NULL, note varchar(40))")
		more := fmt.Sprintf("statement: [%q, %q]\nchunks: {rows: 500}\n", "INSERT INTO "+r.table("archive")+" SELECT * FROM "+r.table("orders")+" WHERE :range AND id <= 4000",
			"DELETE FROM "+r.table("orders")+" WHERE :range AND id <= 4000")
		r.job("archive", more).all()
		require.Equal(t, "4000", r.ask("SELECT count(*) FROM "+r.table("archive")))
		require.Equal(t, "1000", r.ask("SELECT count(*) FROM "+r.table("orders")))
	})
}

func TestStatementsAboutDifferentNumbersOfRowsWriteNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("CREATE TABLE " + r.table("archive") + " (id bigint NOT NULL PRIMARY KEY)")
		j := r.job("unequal", fmt.Sprintf("statement: [%q, %q]\n", "INSERT INTO "+r.table("archive")+" SELECT id FROM "+r.table("orders")+" WHERE :range AND id < 50",
			"DELETE FROM "+r.table("orders")+" WHERE :range AND id >= 50"))
		done := make(chan error, 1)
		go func() { done <- j.transform() }()
		time.Sleep(3 * time.Second)
		close(j.stop)
		require.Error(t, <-done)
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")))
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("archive")))
	})
}

func TestACheckThatDoesNotComeOutFails(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		j := r.job("check", region+fmt.Sprintf("check: {query: %q, expect: 11}\n", "SELECT count(*) FROM "+r.table("orders")))
		require.NoError(t, j.transform())
		_, err := j.verify()
		require.ErrorContains(t, err, "says 10 instead of 11")
		require.Equal(t, task.Mismatch, fault.Of(err).Class)
	})
}

func TestTheAnswerOfACheckIsWrittenAsTheDatabaseDoes(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		answers := map[string]string{"SELECT sum(balance) FROM " + r.table("orders") + ";": "55", "SELECT date '2020-01-02'": "2020-01-02", "SELECT 1.50": "1.50", "SELECT NULL": "NULL"}
		if r.postgres() {
			answers["SELECT '00000000-0000-0000-0000-000000000001'::uuid"] = "00000000-0000-0000-0000-000000000001"
			answers["SELECT 1 = 1 -- so it is"] = "true"
			answers["SELECT timestamp '2020-01-02'"] = "2020-01-02 00:00:00"
		}
		for query, want := range answers {
			require.Equal(t, want, r.ask(query), query)
		}
	})
}

func TestAnEmptyTableCanBePlannedAndGoneThrough(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(0)
		j := r.job("empty", "statement: \"DELETE FROM "+r.table("orders")+" WHERE id BETWEEN :low AND :high\"\n")
		plan, err := j.b.Plan(t.Context(), j.planned())
		require.NoError(t, err)
		require.Contains(t, plan.Statements[0], ":low")
		j.all()
	})
}

func TestARangeCanBeThatOfAnAlias(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(3000)
		r.exec("CREATE TABLE " + r.table("sums") + " (id bigint NOT NULL PRIMARY KEY, n bigint)")
		statement := fmt.Sprintf("INSERT INTO %s SELECT o.id, p.balance FROM %s o JOIN %[2]s p ON p.id = o.id WHERE :range( o )", r.table("sums"), r.table("orders"))
		r.job("alias", fmt.Sprintf("statement: %q\nshards: {rows: 1000}\nchunks: {rows: 170}\n", statement)).all()
		require.Equal(t, "3000", r.ask("SELECT count(*) FROM "+r.table("sums")+" WHERE n = id"))
	})
}
