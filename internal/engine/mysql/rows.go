package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// rows makes engine.Rows of those of database/sql.
type rows struct {
	*sql.Rows
	cancel context.CancelFunc // of the query; nil for one outside of a session
	failed func(error)        // is told of an error in the middle; nil for nobody
}

func (r *rows) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.report()
	}
	return more
}

// report tells of the error by which the rows ended.
func (r *rows) report() {
	if err := r.Err(); err != nil && r.failed != nil {
		r.failed(err)
	}
}

// Scan reads the row. A time is one in UTC, whatever the pool makes of times.
func (r *rows) Scan(dest ...any) error {
	into := slices.Clone(dest)
	for i, d := range dest {
		switch d := d.(type) {
		case *time.Time:
			into[i] = &instant{into: d}
		case **time.Time:
			into[i] = &instant{orNil: d}
		}
	}
	return r.Rows.Scan(into...)
}

func (r *rows) Close() error {
	err := r.Rows.Close()
	r.report()
	if r.Err() != nil {
		err = r.Err()
	}
	// Not before: rows that are not read to their end take its effect for an error.
	if r.cancel != nil {
		r.cancel()
	}
	return err
}

// abandon closes rows that may not have been read: their connection with them.
func (r *rows) abandon() {
	if r.cancel != nil {
		r.cancel()
	}
	_ = r.Rows.Close()
}

// instant scans a time as the server writes it.
type instant struct {
	into  *time.Time
	orNil **time.Time // instead of into, for one that may be NULL
}

func (m *instant) Scan(value any) error {
	var at time.Time
	switch v := value.(type) {
	case nil:
		if m.orNil == nil {
			return errors.New("a time is NULL")
		}
		*m.orNil = nil
		return nil
	case time.Time: // of a pool that parses them
		at = v.UTC()
	case []byte:
		var err error
		if at, err = time.ParseInLocation(time.DateTime, string(v), time.UTC); err != nil { // takes fractions, too
			return err
		}
	default:
		return fmt.Errorf("%T is not a time", value)
	}
	if m.orNil != nil {
		*m.orNil = &at
	} else {
		*m.into = at
	}
	return nil
}
