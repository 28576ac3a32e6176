package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// account is a row as its teller has it in the books.
type account struct {
	code string // no other row has it
	n    int64
}

// teller changes accounts and keeps books of what was committed.
type teller struct {
	*bank
	no      int64
	random  *rand.Rand
	books   map[int64]account
	ids     []int64      // of the books, and of rows that are gone
	done    atomic.Int64 // transactions committed
	longest atomic.Pointer[stall]
}

// forget begins to count anew.
func (w *teller) forget() {
	w.done.Store(0)
	w.longest.Store(nil)
}

// put writes a row into the books.
func (w *teller) put(id int64, a account) {
	if _, there := w.books[id]; !there {
		w.ids = append(w.ids, id)
	}
	w.books[id] = a
}

// work does one transaction after the other until the bank closes.
func (w *teller) work() {
	conn, err := w.sql.Conn(context.Background())
	if err != nil {
		w.refuse(err)
		return
	}
	defer conn.Close() //nolint:errcheck // says only that it is closed already
	for {
		select {
		case <-w.closing:
			return
		case <-time.After(w.pace):
		}
		d := &dealing{teller: w, conn: conn, rows: map[int64]*account{}, shared: -1}
		if err := d.carryOut(); err != nil {
			w.refuse(err)
		}
	}
}

// dealing is a transaction, until it is committed.
type dealing struct {
	*teller
	conn   *sql.Conn
	rows   map[int64]*account // as they will be; nil for one that is deleted
	shared int                // the shared account that it adds to, once at the most; -1 for none
}

// carryOut is, one time of three, a single statement that commits by itself.
// Otherwise it is a transaction of some steps, half of which have read before
// they write, and one of eight is taken back.
func (d *dealing) carryOut() error {
	if d.random.IntN(3) == 0 {
		if err := d.simple(); err != nil {
			return err
		}
		d.keep()
		return nil
	}
	if err := d.exec("BEGIN", -1); err != nil {
		return err
	}
	err := d.steps()
	end := "COMMIT"
	if back := d.random.IntN(8) == 0; back || err != nil {
		end = "ROLLBACK"
	}
	if ending := d.exec(end, -1); ending != nil && err == nil {
		return ending
	}
	if err == nil && end == "COMMIT" {
		d.keep()
	}
	return err
}

func (d *dealing) steps() error {
	if d.random.IntN(2) == 0 {
		if id, _, there := d.pick(); there {
			if err := d.exec(fmt.Sprintf("SELECT n FROM accounts WHERE id = %d", id), -1); err != nil {
				return err
			}
		}
	}
	for range 1 + d.random.IntN(4) {
		if err := d.step(); err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement that has to be about so many rows; -1 when that is not looked at.
func (d *dealing) exec(statement string, rows int64) error {
	began := time.Now()
	result, err := d.conn.ExecContext(context.Background(), statement)
	took := time.Since(began)
	if s := d.longest.Load(); s == nil || took > s.took {
		d.longest.Store(&stall{took, began, statement})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	if changed, err := result.RowsAffected(); rows >= 0 && (err != nil || changed != rows) {
		return fmt.Errorf("%s: %d rows instead of %d (%v)", statement, changed, rows, err)
	}
	return nil
}

// keep enters what was committed into the books.
func (d *dealing) keep() {
	for id, a := range d.rows {
		if a == nil {
			delete(d.books, id)
			continue
		}
		d.put(id, *a)
	}
	if d.shared >= 0 {
		d.bank.shared[d.shared].Add(1)
	}
	d.done.Add(1)
}

// pick chooses a row of its own; false when it hits one that is gone.
func (d *dealing) pick() (id int64, a account, there bool) {
	if len(d.ids) == 0 {
		return 0, a, false
	}
	place := d.random.IntN(len(d.ids))
	id = d.ids[place]
	if changed, found := d.rows[id]; found {
		if changed == nil {
			return 0, a, false
		}
		return id, *changed, true
	}
	a, there = d.books[id]
	if !there { // or ever more would be gone
		d.ids[place] = d.ids[len(d.ids)-1]
		d.ids = d.ids[:len(d.ids)-1]
	}
	return id, a, there
}

// free chooses a number of its own that no row has, above or below all others or between them.
func (d *dealing) free() (int64, bool) {
	id := d.no + tellerCount*(d.random.Int64N(d.size)-d.size/4)
	_, there := d.books[id]
	_, changed := d.rows[id]
	return id, !there && !changed && (id < 1 || id > sharedAccounts)
}

// simple is one statement.
func (d *dealing) simple() error {
	if d.random.IntN(4) == 0 {
		return d.addToShared()
	}
	if id, a, there := d.pick(); there {
		return d.add(id, a)
	}
	return nil
}

func (d *dealing) step() error {
	id, a, there := d.pick()
	switch choice := d.random.IntN(10); {
	case choice == 0 && d.shared < 0:
		return d.addToShared()
	case choice <= 2:
		return d.insert()
	case !there:
		return nil
	case choice <= 4:
		d.rows[id] = nil
		return d.exec(fmt.Sprintf("DELETE FROM accounts WHERE id = %d", id), 1)
	case choice == 5:
		return d.move(id, a)
	case choice <= 7:
		return d.swap(id, a)
	}
	return d.add(id, a)
}

func (d *dealing) add(id int64, a account) error {
	a.n++
	d.rows[id] = &a
	return d.exec(fmt.Sprintf("UPDATE accounts SET n = n + 1 WHERE id = %d", id), 1)
}

func (d *dealing) addToShared() error {
	d.shared = d.random.IntN(sharedAccounts)
	return d.exec(fmt.Sprintf("UPDATE accounts SET n = n + 1 WHERE id = %d", d.shared+1), 1)
}

func (d *dealing) insert() error {
	id, ok := d.free()
	if !ok {
		return nil
	}
	made := account{code: fmt.Sprintf("i%d-%d", id, d.random.Uint32()), n: 7}
	d.rows[id] = &made
	return d.exec(fmt.Sprintf("INSERT INTO accounts (id, code, n) VALUES (%d, '%s', 7)", id, made.code), 1)
}

// move gives a row another key.
func (d *dealing) move(id int64, a account) error {
	other, ok := d.free()
	if !ok {
		return nil
	}
	d.rows[id], d.rows[other] = nil, &a
	return d.exec(fmt.Sprintf("UPDATE accounts SET id = %d WHERE id = %d", other, id), 1)
}

// swap exchanges the unique values of two rows.
func (d *dealing) swap(id int64, a account) error {
	other, b, there := d.pick()
	if !there || other == id {
		return nil
	}
	for _, statement := range []string{
		fmt.Sprintf("UPDATE accounts SET code = NULL WHERE id = %d", id),
		fmt.Sprintf("UPDATE accounts SET code = '%s' WHERE id = %d", a.code, other),
		fmt.Sprintf("UPDATE accounts SET code = '%s' WHERE id = %d", b.code, id),
	} {
		if err := d.exec(statement, 1); err != nil {
			return err
		}
	}
	a.code, b.code = b.code, a.code
	d.rows[id], d.rows[other] = &a, &b
	return nil
}
