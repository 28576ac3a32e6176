package chaos

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

const refusalSource = `
	CREATE TABLE orders (id int NOT NULL PRIMARY KEY, note varchar(20));
	INSERT INTO orders VALUES (1, 'one');
	CREATE TABLE entries (id int NOT NULL PRIMARY KEY);
	CREATE TABLE places (id int NOT NULL PRIMARY KEY, spot geometry NOT NULL, area polygon);
	ANALYZE TABLE orders, entries, places`

const refusalTarget = `
	CREATE TABLE entries (id integer PRIMARY KEY);
	INSERT INTO entries VALUES (7);
	CREATE SCHEMA closed;
	CREATE TABLE taken (id integer)`

// refusals are specs that name something that is not as it should be: each is
// refused with its name and the remedy.
var refusals = []struct {
	name  string
	lines []string
	says  []string
}{
	{"a connection that nobody knows", []string{"source: legaci", "target: warehouse", "tables: [orders]"}, []string{`no connection "legaci"`, "legacy", "GODWIT_CONNECTION_LEGACI"}},
	{"a table that is not there", []string{"source: legacy", "target: warehouse", "tables: [ordrs]"}, []string{"ordrs", "did you mean", "orders"}},
	{"a pattern without a table", []string{"source: legacy", "target: warehouse", "tables: ['nothing_*']"}, []string{"match no table", "legacy"}},
	{"a target table that has rows", []string{"source: legacy", "target: warehouse", "tables: [entries]"}, []string{"public.entries", "exists already and has rows", "existing_rows: replace"}},
	{"an existing table that has rows", []string{"source: legacy", "target: warehouse", "tables: [entries]", "schema: existing"}, []string{"public.entries", "has rows", "existing_rows: replace"}},
	{"a target table that is there and empty", []string{"source: legacy", "target: warehouse", "tables: [{name: orders, to: taken}]"}, []string{"public.taken", "exists already", "schema: existing"}},
	{"an existing table that is not there", []string{"source: legacy", "target: warehouse", "tables: [orders]", "schema: existing"}, []string{"no table public.orders", "schema: create"}},
	{"types that are not supported", []string{"source: legacy", "target: warehouse", "tables: [places]"}, []string{"GEOMETRY", "spot", "POLYGON", "area"}},
	{"two tables for one target", []string{"source: legacy", "target: warehouse", "tables: [{name: orders, to: public.entries}, entries]"}, []string{"orders", "entries", "would be copied to public.entries"}},
	{"a source that is not one", []string{"source: bound", "target: warehouse", "tables: [orders]"}, []string{"bound", "MySQL and MariaDB only"}},
	{"a target that is not one", []string{"source: legacy", "target: blind", "tables: [orders]"}, []string{"blind", "PostgreSQL only"}},
	{"a wrong password", []string{"source: forgot", "target: warehouse", "tables: [orders]"}, []string{"forgot", "password"}},
	{"a wrong password of the target", []string{"source: legacy", "target: forgot_pg", "tables: [orders]"}, []string{"forgot_pg", "password"}},
	{"a server that nobody reaches", []string{"source: away", "target: warehouse", "tables: [orders]"}, []string{"away", "refused"}},
	{"a target that nobody reaches", []string{"source: legacy", "target: away_pg", "tables: [orders]"}, []string{"away_pg", "refused"}},
	{"a database that is not there", []string{"source: nowhere", "target: warehouse", "tables: [orders]"}, []string{"nowhere", "no_such_db"}},
	{"a source that may not be read", []string{"source: blind", "target: warehouse", "tables: [orders]"}, []string{"orders", "its user may not see it"}},
	{"a ledger that may not be used", []string{"source: legacy", "target: stranger", "tables: [orders]"}, []string{`GRANT USAGE, CREATE ON SCHEMA "godwit"`}},
	{"a target that may not be written", []string{"source: legacy", "target: bound", "tables: [{name: orders, to: closed.orders}]"}, []string{`GRANT USAGE, CREATE ON SCHEMA "closed"`}},
}

// TestWhatCannotWorkIsRefusedByNameBeforeAnyChange runs every refusal on one
// stage: none may leave a trace on the target.
func TestWhatCannotWorkIsRefusedByNameBeforeAnyChange(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t)).ownSource(refusalSource)
	s.onTarget(refusalTarget)
	const secret = "Open-Sesame-4711"
	s.oddConnections(secret)
	w := s.worker()
	before, source := s.snapshot(), s.sourceSnapshot()
	for i, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			id := fmt.Sprintf("refused-%s-%d", s.name, i)
			file := filepath.Join(t.TempDir(), "spec.yaml")
			text := strings.Join(append([]string{"kind: copy", "retry: {attempts: 1, rounds: 0}"}, r.lines...), "\n")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			a := s.godwit("run", file, "--id", id, "--wait")
			require.Equal(t, 3, a.code, "%s%s", a.out, a.err)
			for _, word := range r.says {
				require.Contains(t, a.out, word)
			}
			require.NotContains(t, a.out+a.err, secret)
			require.NotContains(t, (&migration{s, id}).history(), secret)
			plan := s.godwit("plan", file)
			require.NotZero(t, plan.code, "plan finds it as well")
			require.Contains(t, plan.err, r.says[0])
			require.NotContains(t, plan.out+plan.err, secret)
			require.Equal(t, before, s.snapshot(), "nothing was changed on the target")
		})
	}
	require.Equal(t, source, s.sourceSnapshot())
	require.NotContains(t, w.log.String(), secret)
	s.hasNoSecret(w.log.String())
	require.Zero(t, one[int](s, "SELECT count(*) FROM godwit.claim"))
}

// oddConnections are connections with something wrong about each.
func (s *stage) oddConnections(secret string) {
	s.t.Helper()
	user := "u" + pid(int(stages.Add(1)))
	s.onSource(fmt.Sprintf("CREATE USER %[1]s@'%%' IDENTIFIED BY 'fine'; GRANT SELECT ON %[2]s.entries TO %[1]s@'%%'", user, s.from))
	s.onTarget(fmt.Sprintf(`CREATE ROLE %[1]s LOGIN PASSWORD 'fine'; CREATE ROLE %[1]s_stranger LOGIN PASSWORD 'fine';
		CREATE SCHEMA godwit AUTHORIZATION %[1]s; GRANT %[1]s TO godwit`, user))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	nobody := listener.Addr().String()
	require.NoError(s.t, listener.Close())
	as := func(server *sandbox.Server, database, user, password, host string) string {
		u, err := url.Parse(server.URL(database))
		require.NoError(s.t, err)
		u.User, u.Host = url.UserPassword(user, password), host
		return u.String()
	}
	for name, address := range map[string]string{
		"FORGOT":    as(s.source, s.from, s.source.User(), secret, s.source.Addr()),
		"FORGOT_PG": as(s.target, s.name, s.target.User(), secret, s.target.Addr()),
		"AWAY":      as(s.source, s.from, "anybody", secret, nobody),
		"AWAY_PG":   as(s.target, s.name, "anybody", secret, nobody),
		"NOWHERE":   s.source.URL("no_such_db"),
		"BLIND":     as(s.source, s.from, user, "fine", s.source.Addr()),
		"STRANGER":  as(s.target, s.name, user+"_stranger", "fine", s.target.Addr()),
		"BOUND":     as(s.target, s.name, user, "fine", s.target.Addr()),
	} {
		s.extra = append(s.extra, "GODWIT_CONNECTION_"+name+"="+address)
	}
}

// history is everything that Temporal keeps of a migration, as text.
func (m *migration) history() string {
	m.t.Helper()
	var b strings.Builder
	events := m.temporal.client.GetWorkflowHistory(context.Background(), m.id, "", false, 1)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(m.t, err)
		b.WriteString(event.String() + "\n")
	}
	return b.String()
}

func TestASpecWithAMistakeIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	a := s.godwit("run", s.spec("tabels: [orders]"))
	require.Equal(t, 2, a.code)
	for _, word := range []string{"copy.yaml:4:1", "tabels", "tables"} {
		require.Contains(t, a.err, word)
	}
	a = s.godwit("run", s.spec("tables: [orders]", "shards: {rows: many}", "verify: {mode: checksums}"))
	require.Equal(t, 2, a.code)
	for _, word := range []string{"copy.yaml:5", "rows", "copy.yaml:6", "checksums", "checksum"} {
		require.Contains(t, a.err, word, "all mistakes at once")
	}
}

func TestWithoutAWorkerOrTemporalTheUserIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	a := s.godwit("run", s.spec("tables: [orders]"))
	require.Equal(t, 1, a.code)
	require.Contains(t, a.err, "no worker is listening")
	require.Contains(t, a.err, "godwit-worker --connections")

	environ := append(s.environ(), "TEMPORAL_ADDRESS=127.0.0.1:1")
	a = s.godwitIn(environ, "run", s.spec("tables: [orders]"))
	require.Equal(t, 1, a.code)
	require.Contains(t, a.err, "no Temporal answers at 127.0.0.1:1")
	require.Contains(t, a.err, "godwit-devserver")
}

func TestAWorkerWithoutTemporalSaysSoAndEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	w := launchWorker(t, append(s.workerEnviron(), "TEMPORAL_ADDRESS=127.0.0.1:1"))
	select {
	case <-w.process.Done():
	case <-time.After(100 * time.Second):
		require.Fail(t, "it still waits", w.log.String())
	}
	require.Contains(t, w.log.String(), "no Temporal answers at 127.0.0.1:1")
	s.hasNoSecret(w.log.String())
}
