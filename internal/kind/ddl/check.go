package ddl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// mostNamed is how many rows that are in the way are named.
const mostNamed = 5

// testData refuses an ALTER that rows stand in the way of, and names them: so
// it is found before anything is changed, and not by the application.
func testData(ctx context.Context, run *kind.Run, db *site, it *item) error {
	stop := run.KeepTouching()
	defer stop()
	var found []string
	for _, test := range it.Tests {
		text, err := broken(ctx, db, test)
		if err != nil && len(found) > 0 && kind.Classify(err).Class == task.Data {
			break // it is about values that are found already
		}
		if err != nil {
			if named := unreadable(ctx, db, it, test, err); named != nil {
				return named
			}
			if class := kind.Classify(err).Class; class == task.Config || class == task.Data {
				return fault.About(it.name(), task.Config, "whether the rows of %s meet it cannot be tested: %s: %w", it.name(), test.What, err)
			}
			return err
		}
		if text != "" {
			found = append(found, text)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fault.About(it.name(), task.Data, "rows of %s are in the way: %s; mend them, and start it again", it.name(), strings.Join(found, "; "))
}

// unreadable names the row that a test could not be made of; nil where there is
// none, or it cannot be found.
func unreadable(ctx context.Context, db *site, it *item, test engine.DataTest, cause error) error {
	if len(test.Each) == 0 || len(it.Table.Key) == 0 || kind.Classify(cause).Class != task.Data {
		return nil
	}
	key, err := kind.Locate(ctx, db, engine.Select{Table: it.Table}, max(it.Table.Rows, 1), func(ctx context.Context, part engine.Range) (bool, error) {
		conditions, err := db.RangeConditions(it.Table, "", part)
		if err != nil {
			return false, err
		}
		rows, err := db.Query(ctx, "SELECT count("+strings.Join(test.Each, "), count(")+") FROM "+db.QuoteName(it.Table.Name)+" WHERE "+strings.Join(append(conditions, "1 = 1"), " AND "))
		if err == nil {
			for rows.Next() { //nolint:revive // to its end, where an error may be
			}
			err = errors.Join(rows.Err(), rows.Close())
		}
		if err != nil && kind.Classify(err).Class == task.Data {
			return true, nil
		}
		return false, err
	})
	if err != nil || key == nil {
		return nil
	}
	return fault.About(it.name(), task.Data, "row %s of %s is in the way: %s, and that fails: %w; mend the row, or say otherwise what becomes of it, and start it again", it.Table.RowName(key), it.name(), test.What, cause)
}

// broken says which rows do not meet a test; empty when all do.
func broken(ctx context.Context, db *site, test engine.DataTest) (string, error) {
	rows, err := db.Query(ctx, test.Rows)
	if err != nil {
		return "", err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	count := 0
	var named []string
	for rows.Next() {
		if count++; len(named) == mostNamed {
			continue
		}
		values := make([]any, len(test.Columns))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		parts := make([]string, len(values))
		for i, v := range values {
			parts[i] = test.Columns[i] + "=" + show(v)
		}
		named = append(named, strings.Join(parts, " "))
	}
	if err := rows.Err(); err != nil || count == 0 {
		return "", err
	}
	more := ""
	if count > len(named) {
		more = ", …"
	}
	if count == 1 {
		return fmt.Sprintf("%s, which 1 row does not meet (%s)", test.What, named[0]), nil
	}
	return fmt.Sprintf("%s, which %d rows do not meet (%s%s)", test.What, count, strings.Join(named, ", "), more), nil
}

// show writes a value as the database does, about, and shortens it.
func show(value any) string {
	const most = 100
	var text string
	switch v := value.(type) {
	case nil:
		return "NULL"
	case []byte:
		text = string(v)
	case time.Time:
		text = v.Format(time.RFC3339Nano)
	default:
		text = fmt.Sprint(v)
	}
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
