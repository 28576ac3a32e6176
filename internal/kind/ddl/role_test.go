package ddl

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// as makes the rig work as another user of the server.
func (r *rig) as(user string) {
	r.t.Helper()
	address, err := url.Parse(r.server.URL(r.database))
	require.NoError(r.t, err)
	address.User = url.UserPassword(user, "secret")
	r.conns, err = connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + address.String()})
	require.NoError(r.t, err)
	r.t.Cleanup(r.conns.Close)
	c, err := r.conns.Get("shop")
	require.NoError(r.t, err)
	db, err := kind.OpenDatabase(r.t.Context(), c)
	require.NoError(r.t, err)
	r.db = &site{kind.Site{Database: db, Conn: c}}
	r.store, err = ledger.Open(r.t.Context(), db, "test")
	require.NoError(r.t, err)
}

func TestAUserWhoMayNotSeeOthersSessionsWaitsForThemAllTheSame(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("DROP ROLE IF EXISTS owner", "CREATE ROLE owner LOGIN PASSWORD 'secret'", "ALTER TABLE public.orders OWNER TO owner",
			"GRANT CREATE, TEMPORARY ON DATABASE "+r.database+" TO owner", "GRANT CREATE, USAGE ON SCHEMA public TO owner", "DROP SCHEMA godwit CASCADE")
		r.as("owner")
		j := r.job("hidden", "ADD COLUMN region varchar(16)", "kill_blockers: {after: 0s}\n")
		result, err := j.preflight()
		require.NoError(t, err)
		require.Contains(t, strings.Join(result.Warnings, "\n"), "GRANT pg_read_all_stats")
		require.NoError(t, j.prepare())
		// It is not known how old it is, so a first try is made, and is in vain.
		end := r.touched(0)
		done := j.async()
		soon(t, "it is waited for", func() bool {
			return j.waited(func(text string) bool { return strings.Contains(text, "to end: it may have the table locked") })
		})
		time.Sleep(500 * time.Millisecond)
		require.Empty(t, r.column("region"))
		require.Empty(t, j.events("session ended"))
		end()
		require.NoError(t, <-done)
		require.NotEmpty(t, r.column("region"))
	})
}

func TestWhatAUserMayNotDoIsFoundBeforeAnythingIsChanged(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		if r.postgres() {
			r.exec("DROP ROLE IF EXISTS clerk", "CREATE ROLE clerk LOGIN PASSWORD 'secret'", "GRANT SELECT ON public.orders TO clerk",
				"GRANT CREATE, TEMPORARY ON DATABASE "+r.database+" TO clerk", "DROP SCHEMA godwit CASCADE")
		} else {
			r.exec("CREATE USER IF NOT EXISTS clerk IDENTIFIED BY 'secret'", "GRANT CREATE, SELECT, INSERT, UPDATE, DELETE, INDEX, DROP ON "+r.database+".* TO clerk",
				"GRANT ALTER ON "+r.database+"._godwit_migration TO clerk")
		}
		r.as("clerk")
		_, err := r.job("denied", "ADD COLUMN region varchar(16)", "").preflight()
		require.ErrorContains(t, err, r.pick("belongs to", "this user may not alter"))
		require.Equal(t, task.Config, fault.Of(err).Class, err.Error())
		require.Empty(t, r.column("region"))
	})
}

func TestAPartitionedTableIsChangedWhereThatLocksNobodyOutForLong(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE public.orders (id bigint NOT NULL, day date NOT NULL, customer bigint, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
			"CREATE TABLE public.orders_1 PARTITION OF public.orders FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
			"CREATE TABLE public.orders_2 PARTITION OF public.orders FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
			"INSERT INTO public.orders SELECT n, '2026-01-01'::date + n, n FROM generate_series(1, 50) n")
		_, err := r.job("refused", "ADD UNIQUE (customer, day)", "strategy: direct\n").preflight()
		require.ErrorContains(t, err, "cannot be built beside the writers of a partitioned table")
		j := r.job("parts", "ALTER customer SET NOT NULL, ADD COLUMN region text, ADD CHECK (customer > 0)", "")
		require.NoError(t, j.prepare())
		end := r.transaction("UPDATE public.orders_2 SET customer = 7 WHERE id = 40")
		time.Sleep(1200 * time.Millisecond)
		done := j.async()
		soon(t, "a transaction on a partition is seen", func() bool {
			return j.waited(func(text string) bool { return strings.Contains(text, "orders_2") })
		})
		end()
		require.NoError(t, <-done)
		require.Contains(t, r.column("customer"), "not null")
		require.Empty(t, r.leftovers())
	})
}
