package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

const (
	// tellerCount is how many write at once.
	tellerCount = 16
	// sharedAccounts are those that every teller adds to. Each of the others
	// belongs to one teller, by the remainder of its number.
	sharedAccounts = 8
	// busily is the pause between two transactions of a teller that keep one who
	// drains busy on a machine of two cores: some thousand rows a second.
	busily = 4 * time.Millisecond
	// lively is one that a slow machine keeps up with, too.
	lively = 25 * time.Millisecond
	// gently is the pause between two transactions of a teller where the machine
	// is needed for other things as well.
	gently = 150 * time.Millisecond
)

// bank is an application with a table accounts, whose definition is changed while
// its tellers write to it: the oracle of online copies. What has been
// acknowledged to a teller is in its books, and at the end the table has to be
// what the books say. Tellers only change rows of their own, and add to those
// they share, so the books are right in whatever order they have worked.
type bank struct {
	*ground
	pace    time.Duration // a teller's pause between two transactions
	tellers []*teller
	shared  [sharedAccounts]atomic.Int64 // added to the shared accounts
	closing chan struct{}
	working sync.WaitGroup

	mu      sync.Mutex
	refused map[string]int // transactions that the server has refused, by its number or code of the error
	wrong   []string       // what must not be: errors without a number, rows that are not there
}

// onEveryBank runs a test on a bank on each engine: at the same time, or one
// after the other when the tellers take the machine for themselves.
func onEveryBank(t *testing.T, accounts int64, pace time.Duration, test func(b *bank)) {
	t.Helper()
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			if pace >= gently {
				t.Parallel()
			}
			test(newBank(t, kind, accounts, pace))
		})
	}
}

// newBank makes a bank that is closed yet.
func newBank(t *testing.T, kind sandbox.Kind, accounts int64, pace time.Duration) *bank {
	t.Helper()
	b := &bank{ground: bareGround(t, rigOf(t, kind), kind), pace: pace, refused: map[string]int{}}
	b.size = accounts
	b.exec("CREATE TABLE accounts (id bigint NOT NULL PRIMARY KEY, code varchar(30), n int NOT NULL, note varchar(60))",
		"INSERT INTO accounts SELECT n, concat('c', n), n, 'what there is to say about an account' FROM "+b.numbers(),
		"CREATE UNIQUE INDEX accounts_code ON accounts (code)", "CREATE INDEX accounts_n ON accounts (n)")
	if b.postgres() {
		b.exec("ANALYZE accounts")
	} else {
		b.exec("ANALYZE TABLE accounts")
	}
	random := dice(t)
	for no := range int64(tellerCount) {
		own := &teller{bank: b, no: no, books: map[int64]account{}, random: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
		for id := int64(sharedAccounts + 1); id <= accounts; id++ {
			if id%tellerCount == no {
				own.put(id, account{code: fmt.Sprintf("c%d", id), n: id})
			}
		}
		b.tellers = append(b.tellers, own)
	}
	t.Cleanup(b.close)
	return b
}

// open lets the tellers work.
func (b *bank) open() {
	b.closing = make(chan struct{})
	for _, own := range b.tellers {
		own.forget()
		b.working.Go(own.work)
	}
}

// close lets them finish what they are at.
func (b *bank) close() {
	if b.closing == nil {
		return
	}
	close(b.closing)
	b.working.Wait()
	b.closing = nil
}

// balance closes the bank and compares the table with the books. It returns what
// the servers have refused since the last time, by the number of the error.
func (b *bank) balance() map[string]int {
	b.t.Helper()
	b.close()
	b.mu.Lock()
	refused := b.refused
	wrong := b.wrong
	b.refused = map[string]int{}
	b.mu.Unlock()
	require.Empty(b.t, wrong, "what the application saw")
	for code := range refused {
		require.Contains(b.t, b.contention(), code, "the application saw errors: %v", refused)
	}
	require.Empty(b.t, b.discrepancies(), "the table is not what was acknowledged to the application")
	return refused
}

// contention are the errors that an application has to expect of a server that
// changes a definition. On PostgreSQL there are none.
func (b *bank) contention() []string {
	if b.postgres() {
		return nil
	}
	return []string{"1213"}
}

// discrepancies are rows of the table that are not what the books say.
func (b *bank) discrepancies() (found []string) {
	b.t.Helper()
	books := map[int64]account{}
	for i := range b.shared {
		id := int64(i + 1)
		books[id] = account{code: fmt.Sprintf("c%d", id), n: id + b.shared[i].Load()}
	}
	for _, own := range b.tellers {
		for id, a := range own.books {
			books[id] = a
		}
	}
	for _, line := range b.texts("SELECT concat(id, '|', coalesce(code, 'NULL'), '|', n) FROM accounts ORDER BY id") {
		var id int64
		var there account
		fields := strings.Split(line, "|")
		_, err := fmt.Sscan(fields[0]+" "+fields[1]+" "+fields[2], &id, &there.code, &there.n)
		require.NoError(b.t, err, line)
		a, written := books[id]
		switch {
		case !written:
			found = append(found, "resurrected or doubled: "+line)
		case a != there:
			found = append(found, fmt.Sprintf("changed: %s instead of %s|%d", line, a.code, a.n))
		}
		delete(books, id)
	}
	for id, a := range books {
		found = append(found, fmt.Sprintf("lost: %d|%s|%d", id, a.code, a.n))
	}
	return found[:min(len(found), 10)]
}

// done is how many transactions have been committed since the bank was opened.
func (b *bank) done() (count int64) {
	for _, own := range b.tellers {
		count += own.done.Load()
	}
	return count
}

// longest is the statement that has taken longest since then.
func (b *bank) longest() (longest stall) {
	for _, own := range b.tellers {
		if s := own.longest.Load(); s != nil && s.took > longest.took {
			longest = *s
		}
	}
	return longest
}

// stall is a statement that took its time.
type stall struct {
	took      time.Duration
	at        time.Time
	statement string
}

func (s stall) String() string {
	return fmt.Sprintf("%s (%s, from %s)", s.took.Round(time.Millisecond), s.statement, s.at.Format("15:04:05.000"))
}

// refuse notes an error that a teller has seen.
func (b *bank) refuse(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var theirs *mysql.MySQLError
	var ours *pgconn.PgError
	switch {
	case errors.As(err, &theirs):
		b.refused[fmt.Sprint(theirs.Number)]++
	case errors.As(err, &ours):
		b.refused[ours.Code]++
	}
	if theirs == nil || theirs.Number != 1213 {
		b.wrong = append(b.wrong[:min(len(b.wrong), 5)], err.Error())
	}
}
