package spec

import (
	"fmt"
	"slices"
	"strconv"

	"godwit/internal/document"
	"godwit/internal/task"
)

// With returns the throttle with what an operator has changed; nil changes
// nothing. Its errors say what is wrong with the settings.
func (t Throttle) With(s *task.ThrottleSettings) (Throttle, error) {
	if s == nil {
		return t, nil
	}
	c := change{}
	set(&t.RowsPerSecond, s.RowsPerSecond)
	set(&t.Parallel, s.Parallel)
	set(&t.Hold, s.Hold)
	set(&t.MaxActive, s.MaxActive)
	set(&t.MaxIOWaits, s.MaxIOWaits)
	set(&t.MaxArchiveQueue, s.MaxArchiveQueue)
	set(&t.ResumeAt, s.ResumeAt)
	if s.Replicas != nil {
		t.Replicas = slices.Clone(*s.Replicas)
	}
	c.size(&t.BytesPerSecond, "bytes_per_second", s.BytesPerSecond)
	c.duration(&t.MaxLag, "max_lag", s.MaxLag)
	c.duration(&t.MaxCommitLatency, "max_commit_latency", s.MaxCommitLatency)
	c.duration(&t.MaxTransactionAge, "max_transaction_age", s.MaxTransactionAge)
	c.growth(&t, s.MaxLogGrowth)
	c.changelog(&t, s.MaxChangelog)
	c.disk(&t, s.MinFreeDisk)
	c.query(&t, s.QueryMax)
	if s.HTTP != nil {
		if t.HTTP = *s.HTTP; away(t.HTTP) {
			t.HTTP = ""
		}
	}
	if c.err != nil {
		return Throttle{}, c.err
	}
	return t, t.Valid()
}

// Valid applies the rules of a spec.
func (t *Throttle) Valid() error {
	type alone struct {
		Throttle Throttle `json:"throttle"`
	}
	found := document.Check(&alone{*t}, nil)
	replicas := t.Replicas
	if t.MaxLag == 0 {
		t.Replicas = nil // they are watched for nothing while the guard is taken away
	}
	t.check(&found)
	t.Replicas = replicas
	if t.RowsPerSecond < 0 || t.BytesPerSecond < 0 {
		found.Add("throttle", "limits must be 0 (none) or more")
	}
	return found.Err()
}

// change applies texts to a throttle and keeps the first mistake.
type change struct{ err error }

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// away reports whether a text takes a limit or a guard away.
func away(text string) bool { return text == "" || text == "0" || text == "none" }

func (c *change) fail(field string, err error) {
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("%s: %w", field, err)
	}
}

func (c *change) duration(field *Duration, name string, text *string) {
	switch {
	case text == nil:
	case away(*text):
		*field = 0
	default:
		d, err := ParseDuration(*text)
		*field = d
		c.fail(name, err)
	}
}

func (c *change) size(field *Size, name string, text *string) {
	switch {
	case text == nil:
	case away(*text):
		*field = 0
	default:
		n, err := ParseSize(*text)
		*field = n
		c.fail(name, err)
	}
}

// growth keeps what the spec says is to happen then.
func (c *change) growth(t *Throttle, text *string) {
	if text == nil {
		return
	}
	var changed LogGrowth
	if t.MaxLogGrowth != nil {
		changed = *t.MaxLogGrowth
	}
	c.size(&changed.Bytes, "max_log_growth", text)
	if t.MaxLogGrowth = &changed; changed.Bytes == 0 {
		t.MaxLogGrowth = nil
	}
}

// changelog keeps what the spec says is to happen then.
func (c *change) changelog(t *Throttle, text *string) {
	if text == nil {
		return
	}
	changed := t.Changelog()
	then := changed.Then
	c.fail("max_changelog", changed.SetText(*text))
	if changed.Rows > 0 {
		changed.Then = then
	}
	t.MaxChangelog = &changed
}

func (c *change) disk(t *Throttle, text *string) {
	switch {
	case text == nil:
	case away(*text):
		t.MinFreeDisk = nil
	case t.MinFreeDisk == nil:
		c.fail("min_free_disk", fmt.Errorf("the spec does not say where to look: it can only be changed or taken away"))
	default:
		changed := *t.MinFreeDisk
		c.size(&changed.Bytes, "min_free_disk", text)
		t.MinFreeDisk = &changed
	}
}

func (c *change) query(t *Throttle, text *string) {
	switch {
	case text == nil:
	case *text == "" || *text == "none": // 0 is a limit like any other
		t.Query = nil
	case t.Query == nil:
		c.fail("query_max", fmt.Errorf("the spec has no query: it can only be changed or taken away"))
	default:
		changed := *t.Query
		n, err := strconv.ParseInt(*text, 10, 64)
		if err != nil {
			err = fmt.Errorf("%q is not a whole number", *text)
		}
		changed.Max, t.Query = n, &changed
		c.fail("query_max", err)
	}
}
