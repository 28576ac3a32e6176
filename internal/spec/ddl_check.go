package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"godwit/internal/document"
)

func (d *DDLSpec) title() string {
	if d.Table == "" {
		return d.Database
	}
	return d.Database + ": " + d.Table
}

var alterTable = regexp.MustCompile(`(?i)^\s*ALTER\s+TABLE\b`)

// clause is how an undo begins that is only a part of an ALTER TABLE: no server would
// take it, and that would come out at the worst of times.
var clause = regexp.MustCompile(`(?i)^\s*(add|modify|change|alter\s+column|drop\s+(column|constraint|primary|foreign|check|key)|rename\s+(column|to|index|key|constraint))\b`)

func (d *DDLSpec) check(found *document.Mistakes) {
	checkConnection(found, "database", d.Database)
	checkTableName(found, "table", d.Table)
	checkSQL(found, "alter", d.Alter)
	checkSQL(found, "undo", d.Undo)
	switch {
	case alterTable.MatchString(d.Alter):
		found.Add("alter", "is what follows ALTER TABLE and the table's name: leave these out")
	case d.Alter != "" && strings.TrimSpace(d.Alter) == "":
		found.Add("alter", "is missing")
	}
	if clause.MatchString(d.Undo) {
		found.Add("undo", "is a whole statement: begin it with ALTER TABLE %s", d.Table)
	}
	d.checkColumns(found)
	if d.Chunks.Time <= 0 {
		found.Add("chunks.time", "must be longer than 0")
	}
	if d.Cutover.Timeout <= 0 {
		found.Add("cutover.timeout", "must be longer than 0: it is how long a lock is waited for")
	}
	if d.Cutover.RetryDelay <= 0 {
		found.Add("cutover.retry_delay", "must be longer than 0: others have to come through in between")
	}
	if d.Cutover.Between != "" {
		if _, _, err := d.Cutover.Between.bounds(); err != nil {
			found.Add("cutover.between", "%v", err)
		}
	}
}

// checkColumns finds what is wrong about renames and the values of columns.
func (d *DDLSpec) checkColumns(found *document.Mistakes) {
	from := map[string]string{}
	for _, old := range slices.Sorted(maps.Keys(d.Renames)) {
		name, field := d.Renames[old], document.Join("renames", old)
		switch first, taken := from[name]; {
		case name == "":
			found.Add(field, "is missing: give the column's new name")
		case name == old:
			found.Add(field, "is the same name")
		case taken:
			found.Add(field, "%s is renamed to %s as well", first, name)
		}
		from[name] = old
	}
	for _, column := range slices.Sorted(maps.Keys(d.Columns)) {
		field := document.Join("columns", column)
		if strings.TrimSpace(d.Columns[column]) == "" {
			found.Add(field, "is missing: give an SQL expression")
		}
		checkSQL(found, field, d.Columns[column])
	}
}

// Window is a time of the day, in UTC: 02:00-04:00. One that ends before it
// begins goes over midnight.
type Window string

// bounds are its beginning and its end, since midnight.
func (w Window) bounds() (from, until time.Duration, err error) {
	bad := fmt.Errorf("%q is not a time of the day: write it like 02:00-04:00", string(w))
	var times [2]time.Duration
	parts := strings.Split(string(w), "-")
	if len(parts) != len(times) {
		return 0, 0, bad
	}
	for i, part := range parts {
		at, err := time.Parse("15:04", part)
		if err != nil {
			return 0, 0, bad
		}
		times[i] = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	if times[0] == times[1] {
		return 0, 0, fmt.Errorf("%q ends when it begins", string(w))
	}
	return times[0], times[1], nil
}

// Wait is how long it is from a moment to the next one that is in the window; 0
// when it is in it. No window is open always.
func (w Window) Wait(now time.Time) time.Duration {
	from, until, err := w.bounds()
	if w == "" || err != nil {
		return 0
	}
	now = now.UTC()
	at := now.Sub(now.Truncate(24 * time.Hour))
	inside := from <= at && at < until
	if until < from {
		inside = from <= at || at < until
	}
	switch {
	case inside:
		return 0
	case at < from:
		return from - at
	}
	return from + 24*time.Hour - at
}
