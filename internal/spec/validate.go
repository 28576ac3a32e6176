package spec

import (
	"regexp"
	"strings"
	"unicode"

	"godwit/internal/document"
	"godwit/internal/task"
)

// Validate finds what is wrong or inconsistent in a spec that has its
// defaults; Parse has done it already. The error is document.Mistakes.
func (s *Spec) Validate() error { return s.check(nil).Err() }

// check does the work of Validate; root is the document that the spec was read
// from, if it was.
func (s *Spec) check(root *document.Node) document.Mistakes {
	var found document.Mistakes
	at, err := slotFor(s.Kind)
	if err != nil {
		found.Add("kind", "%v", err)
		return found
	}
	found = append(document.Check(&s.Common, root), s.Common.check()...)
	if s.Kind == task.Pipeline {
		s.Common.checkPipeline(&found)
	}
	for _, k := range kinds {
		p := k.part(s)
		switch {
		case p == nil && k.kind == at.kind:
			found.Add("", "a spec of kind %s without its part", s.Kind)
		case p != nil && k.kind != at.kind:
			found.Add("", "a spec of kind %s with a part of kind %s", s.Kind, k.kind)
		case p != nil:
			found = append(found, document.Check(p, root)...)
			p.check(&found)
		}
	}
	return found
}

func (c *Common) check() (found document.Mistakes) {
	if strings.ContainsFunc(c.Name, unicode.IsControl) {
		found.Add("name", "must be one line, without control characters")
	}
	if c.Retry.MaxDelay < c.Retry.Delay {
		found.Add("retry.delay", "%s is longer than retry.max_delay, %s", c.Retry.Delay, c.Retry.MaxDelay)
	}
	c.Throttle.check(&found)
	return found
}

var connectionName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (c *CopySpec) title() string { return c.Source + " → " + c.Target }

func (c *CopySpec) check(found *document.Mistakes) {
	checkConnection(found, "source", c.Source)
	checkConnection(found, "target", c.Target)
	if c.Source != "" && sameConnection(c.Source, c.Target) {
		found.Add("target", "is the same connection as the source: a copy goes from one to another")
	}
	if c.Cutover.Timeout <= 0 {
		found.Add("cutover.timeout", "must be longer than 0: the source is locked for as long")
	}
	checkTables(found, c.Tables)
}

// sameConnection tells whether two names mean the same connection: case does not
// matter, and - is the same as _.
func sameConnection(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", "_"), strings.ReplaceAll(b, "-", "_"))
}

// checkConnection does not repeat what it refuses: it may be an address with a
// password in it.
func checkConnection(found *document.Mistakes, field, name string) {
	switch {
	case name == "" || connectionName.MatchString(name):
	case strings.Contains(name, "://"):
		found.Add(field, "must be the name of a connection, not an address: addresses and passwords belong to the worker, "+
			"in GODWIT_CONNECTION_<NAME> or its file of connections")
	default:
		found.Add(field, "must be the name of a connection, of letters, digits, _ and -")
	}
}
