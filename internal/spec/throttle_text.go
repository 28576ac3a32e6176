package spec

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/invopop/jsonschema"

	"godwit/internal/document"
)

// SetText reads the word that stands for no throttle at all.
func (t *Throttle) SetText(text string) error {
	if text != "none" {
		return fmt.Errorf("%q is not a throttle: give limits and guards, or none", text)
	}
	*t = Throttle{None: true}
	return nil
}

// MarshalJSON writes a throttle in the form in which it was read.
func (t Throttle) MarshalJSON() ([]byte, error) {
	if t.None {
		return json.Marshal("none")
	}
	type fields Throttle
	return json.Marshal(fields(t))
}

// SetText reads a budget that holds.
func (g *LogGrowth) SetText(text string) error {
	size, err := ParseSize(text)
	*g = LogGrowth{Bytes: size}
	return err
}

// SetText reads a limit that holds.
func (l *ChangelogLimit) SetText(text string) error {
	rows, err := strconv.ParseInt(text, 10, 64)
	if text == "none" {
		rows, err = 0, nil
	}
	if err != nil {
		return fmt.Errorf("%q is not a number of noted changes: give a whole number, 0 for any", text)
	}
	*l = ChangelogLimit{Rows: rows}
	return nil
}

// IsCountable says that a number alone is a limit.
func (l *ChangelogLimit) IsCountable() {}

// UnmarshalJSON reads a limit in either form.
func (l *ChangelogLimit) UnmarshalJSON(data []byte) error {
	var rows json.Number
	if json.Unmarshal(data, &rows) == nil {
		return l.SetText(rows.String())
	}
	return readStrictly(data, l)
}

// UnmarshalJSON reads a throttle in either form.
func (t *Throttle) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		return t.SetText(word)
	}
	return readStrictly(data, t)
}

// UnmarshalJSON reads a budget in either form.
func (g *LogGrowth) UnmarshalJSON(data []byte) error {
	var size string
	if json.Unmarshal(data, &size) == nil {
		return g.SetText(size)
	}
	return readStrictly(data, g)
}

func readStrictly(data []byte, target any) error {
	root, err := document.ReadJSON(data)
	if err != nil {
		return err
	}
	return root.Decode(target).Err()
}

// JSONSchemaExtend adds the short form to the schema.
func (Throttle) JSONSchemaExtend(s *jsonschema.Schema) {
	mapping := *s
	mapping.Description = ""
	*s = jsonschema.Schema{Description: s.Description, OneOf: []*jsonschema.Schema{{Type: "string", Const: "none"}, &mapping}}
}

// JSONSchemaExtend adds the short form to the schema.
func (LogGrowth) JSONSchemaExtend(s *jsonschema.Schema) {
	mapping := *s
	mapping.Description = ""
	*s = jsonschema.Schema{Description: s.Description, OneOf: []*jsonschema.Schema{{Type: "string", Pattern: sizePattern}, &mapping}}
}

// JSONSchemaExtend adds the short form to the schema.
func (ChangelogLimit) JSONSchemaExtend(s *jsonschema.Schema) {
	mapping := *s
	mapping.Description = ""
	*s = jsonschema.Schema{Description: s.Description, OneOf: []*jsonschema.Schema{{Type: "integer", Minimum: "0"}, &mapping}}
}

// Guards are the guards with their limits, in words: "max_lag 2s".
func (t *Throttle) Guards() (list []string) {
	add := func(name string, is bool, limit any) {
		if is {
			list = append(list, fmt.Sprintf("%s %v", name, limit))
		}
	}
	add("max_lag", t.MaxLag > 0, t.MaxLag)
	add("max_active", t.MaxActive > 0, t.MaxActive)
	add("max_io_waits", t.MaxIOWaits > 0, t.MaxIOWaits)
	add("max_commit_latency", t.MaxCommitLatency > 0, t.MaxCommitLatency)
	if t.MaxLogGrowth != nil {
		add("max_log_growth", true, t.MaxLogGrowth.Bytes)
	}
	add("max_archive_queue", t.MaxArchiveQueue > 0, t.MaxArchiveQueue)
	if t.MaxChangelog != nil && t.MaxChangelog.Rows > 0 {
		add("max_changelog", true, t.MaxChangelog.Rows)
	}
	add("max_transaction_age", t.MaxTransactionAge > 0, t.MaxTransactionAge)
	if t.MinFreeDisk != nil {
		add("min_free_disk", true, t.MinFreeDisk.Bytes)
	}
	if t.Query != nil {
		add("query", true, t.Query.Max)
	}
	if t.HTTP != "" {
		list = append(list, "http")
	}
	return list
}

// check finds what is inconsistent in a throttle.
func (t *Throttle) check(found *document.Mistakes) {
	for i, name := range t.Replicas {
		checkConnection(found, document.Item("throttle.replicas", i), name)
		if name == "" {
			found.Add(document.Item("throttle.replicas", i), "is empty: name a connection")
		}
	}
	if len(t.Replicas) > 0 && t.MaxLag == 0 {
		found.Add("throttle.replicas", "are watched for nothing: give max_lag, too")
	}
	if disk := t.MinFreeDisk; disk != nil {
		if places := count(disk.Path, disk.Query, disk.URL); places != 1 {
			found.Add("throttle.min_free_disk", "%d places are given to look at, and must be exactly one of path, query and url", places)
		}
		checkAddress(found, "throttle.min_free_disk.url", disk.URL)
	}
	if t.Query != nil {
		checkConnection(found, "throttle.query.connection", t.Query.Connection)
	}
	if limit := t.MaxChangelog; limit != nil && limit.Rows == 0 && limit.Then != "" {
		found.Add("throttle.max_changelog.rows", "is missing: give a number of noted changes")
	}
	checkAddress(found, "throttle.http", t.HTTP)
}

func count(texts ...string) (set int) {
	for _, text := range texts {
		if text != "" {
			set++
		}
	}
	return set
}

// checkAddress does not repeat what it refuses: there may be a password in it.
func checkAddress(found *document.Mistakes, field, address string) {
	if address == "" {
		return
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		found.Add(field, "must be an address that begins with http:// or https://")
	case u.User != nil:
		found.Add(field, "must not have a user or a password in it: a spec is not a place for secrets")
	}
}
