package spec

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"godwit/internal/document"
)

// MostSteps is how many steps a pipeline has at the most, those of groups included.
const MostSteps = 100

// MostStepName is the longest name of a step: it is part of an id.
const MostStepName = 40

// minEvery is how often a query may be asked that is waited for.
const minEvery = time.Second

var (
	stepName  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	secretVar = regexp.MustCompile(`^GODWIT_HTTP_[A-Z0-9_]+$`)
	// secretHeader are headers that tell who calls.
	secretHeader = regexp.MustCompile(`(?i)^(proxy-)?authorization$|^cookie2?$|(^|-)(api-?key|auth|token|secret|password|signature)$|-(api-?key|token|secret)-`)
	// secretParameter are those of an address that do.
	secretParameter = regexp.MustCompile(`(?i)^(.*[-_.])?(api-?_?key|apikey|token|secret|password|passwd|pwd|signature|sig)$`)
)

func (p *PipelineSpec) title() string {
	const most = 5
	var names []string
	for i := range p.Steps {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, p.Steps[i].Name)
	}
	return strings.Join(names, " → ")
}

func (p *PipelineSpec) check(found *document.Mistakes) {
	checkConnection(found, "ledger", p.Ledger)
	flat := p.Flat()
	switch {
	case len(p.Steps) == 0 && p.Steps != nil:
		found.Add("steps", "is empty: a pipeline has at least one step")
	case len(flat) > MostSteps:
		found.Add("steps", "are %d with those of groups: at most %d", len(flat), MostSteps)
	case len(p.Steps) > 0 && p.Home() == "":
		found.Add("ledger", "is missing: no step has a database, so name the connection whose database is to have the pipeline's own rows")
	}
	c := stepCheck{found: found, places: map[string]string{}}
	for i := range p.Steps {
		at := document.Item("steps", i)
		c.step(&p.Steps[i], at, false)
		for j := range p.Steps[i].Group {
			c.step(&p.Steps[i].Group[j], document.Item(document.Join(at, "group"), j), true)
		}
		c.done()
	}
}

// checkPipeline refuses what Common has and a pipeline does not.
func (c *Common) checkPipeline(found *document.Mistakes) {
	if !reflect.ValueOf(c.Throttle).IsZero() {
		found.Add("throttle", "belongs to the steps: give each its own")
	}
	if c.Verify.Mode != Checksum {
		found.Add("verify", "belongs to the steps: give each its own")
	}
	var usual Common
	document.Fill(&usual)
	limits, defaults := c.Timeouts, usual.Timeouts
	for _, of := range []struct {
		phase      string
		set, usual Duration
	}{
		{"preflight", limits.Preflight, defaults.Preflight}, {"backup", limits.Backup, defaults.Backup}, {"transform", limits.Transform, defaults.Transform},
		{"verify", limits.Verify, defaults.Verify}, {"cutover", limits.Cutover, defaults.Cutover}, {"cleanup", limits.Cleanup, defaults.Cleanup},
	} {
		if of.set != of.usual {
			found.Add("timeouts."+of.phase, "belongs to the steps: give each its own")
		}
	}
}

// stepCheck goes through the steps in order.
type stepCheck struct {
	found  *document.Mistakes
	places map[string]string // of the names so far
	before []string          // names of the steps that are over
	now    []string          // names of the step that is looked at, and of its group
}

func (c *stepCheck) done() {
	c.before, c.now = append(c.before, c.now...), nil
}

func (c *stepCheck) add(at, field, format string, args ...any) {
	if field != "" {
		at = document.Join(at, field)
	}
	c.found.Add(at, format, args...)
}

func (c *stepCheck) step(s *Step, at string, inGroup bool) {
	c.name(s, at)
	c.what(s, at, inGroup)
	if s.Group != nil {
		c.group(s, at)
	}
	if s.Backoff != 0 && s.Retries != nil && *s.Retries == 0 {
		c.add(at, "backoff", "there are no retries that it could be before")
	}
	if s.OnTimeout != "" && s.Timeout == 0 {
		c.add(at, "on_timeout", "there is no timeout that it could be done about")
	}
	c.condition(s.When, at, "when")
	c.needs(s, at)
	c.part(s, at)
}

func (c *stepCheck) name(s *Step, at string) {
	switch first := c.places[s.Name]; {
	case s.Name == "": // said to be missing
	case len(s.Name) > MostStepName || !stepName.MatchString(s.Name):
		c.add(at, "name", "%q is not a step's name: up to %d small letters, digits, - and _, a letter or digit first", s.Name, MostStepName)
	case first != "":
		c.add(at, "name", "%q is the name of %s already", s.Name, first)
	default:
		c.places[s.Name] = at
	}
	c.now = append(c.now, s.Name)
}

// what makes sure that the step does exactly one thing.
func (c *stepCheck) what(s *Step, at string, inGroup bool) {
	var given []string
	for name, is := range map[string]bool{
		"copy": s.Copy != nil, "ddl": s.DDL != nil, "backfill": s.Backfill != nil, "reindex": s.Reindex != nil,
		"sql": s.SQL != nil, "wait": s.Wait != nil, "http": s.HTTP != nil, "group": s.Group != nil,
	} {
		if is {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	switch {
	case len(given) > 1:
		c.add(at, given[1], "the step has %s already: make a step of each", given[0])
	case len(given) == 0 && !s.Approve:
		c.add(at, "", "does nothing: give it one of copy, ddl, backfill, reindex, sql, wait, http, group, or approve: true")
	case inGroup && s.Group != nil:
		c.add(at, "group", "groups within groups are %s", document.NotYet)
	}
}

// group refuses what belongs to a group's members.
func (c *stepCheck) group(s *Step, at string) {
	if len(s.Group) == 0 {
		c.add(at, "group", "is empty: name the steps that are done side by side")
	}
	c.apart(s.Group, at)
	given := map[string]bool{
		"timeout": s.Timeout != 0, "retries": s.Retries != nil, "backoff": s.Backoff != 0,
		"on_failure": s.OnFailure != "", "on_timeout": s.OnTimeout != "",
	}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if given[field] {
			c.add(at, field, "belongs to the steps of the group")
		}
	}
}

// apart refuses steps side by side that are about the same table: the claim of one
// would keep the other out.
func (c *stepCheck) apart(group []Step, at string) {
	first := map[string]string{}
	for i := range group {
		s := &group[i]
		table, field := s.table()
		if table == "" {
			continue
		}
		table = strings.ToLower(strings.ReplaceAll(s.Database(), "-", "_")) + " " + table
		if other := first[table]; other != "" {
			c.add(document.Item(document.Join(at, "group"), i), field, "is the table of step %s, which is done at the same time: do one after the other", other)
			continue
		}
		first[table] = s.Name
	}
}

// table is the one table that a step changes, and the field that says so; empty for
// none, or many.
func (s *Step) table() (name, field string) {
	switch {
	case s.DDL != nil:
		return s.DDL.Table, "ddl.table"
	case s.Backfill != nil:
		return s.Backfill.Table, "backfill.table"
	case s.Reindex != nil:
		return s.Reindex.Table, "reindex.table"
	}
	return "", ""
}

func (c *stepCheck) condition(w *Condition, at, field string) {
	if w == nil {
		return
	}
	checkConnection(c.found, document.Join(document.Join(at, field), "database"), w.Database)
	checkSQL(c.found, document.Join(document.Join(at, field), "query"), w.Query)
}

// needs takes a name for that of an earlier step, or else of another migration.
func (c *stepCheck) needs(s *Step, at string) {
	for i, name := range s.Needs {
		field := "needs"
		if len(s.Needs) > 1 {
			field = document.Item(field, i)
		}
		switch {
		case strings.TrimSpace(name) == "":
			c.add(at, field, "is empty")
		case slices.Contains(c.before, name):
		case slices.Contains(c.now, name):
			c.add(at, field, "%q is this step, or one that is done beside it", name)
		case s.Database() == "" && s.Group == nil && s.When == nil:
			near := document.Suggest(name, c.before)
			if len(c.before) == 0 {
				near = "there is none"
			}
			c.add(at, field, "%q is not an earlier step (%s), and the step has no database in whose ledger a migration of that name could be", name, near)
		}
	}
}

// part checks what the step does by the rules of its kind.
func (c *stepCheck) part(s *Step, at string) {
	switch {
	case s.Wait != nil:
		c.wait(s.Wait, document.Join(at, "wait"))
	case s.HTTP != nil:
		c.http(s.HTTP, document.Join(at, "http"))
	}
	m := s.Migration()
	if m == nil {
		return
	}
	slot, err := slotFor(m.Kind)
	if err != nil {
		c.add(at, "", "%v", err)
		return
	}
	found := m.Common.check()
	slot.part(m).check(&found)
	for _, one := range found {
		c.found.Add(document.Join(document.Join(at, s.Kind()), one.Field), "%s", one.Text)
	}
}

func (c *stepCheck) wait(w *WaitStep, at string) {
	checkConnection(c.found, document.Join(at, "database"), w.Database)
	checkSQL(c.found, document.Join(at, "query"), w.Query)
	switch {
	case w.Query == "" && w.Between == "":
		c.add(at, "", "waits for nothing: give it a query, or a window in between")
	case w.Query != "" && w.Database == "":
		c.add(at, "database", "is missing: the query has to be asked of one")
	case w.Query == "" && w.Database != "":
		c.add(at, "query", "is missing")
	}
	if w.Every < Duration(minEvery) {
		c.add(at, "every", "must be 1s or more")
	}
	if w.Between != "" {
		if _, _, err := w.Between.bounds(); err != nil {
			c.add(at, "between", "%v", err)
		}
	}
}

func (c *stepCheck) http(h *HTTPStep, at string) {
	address, err := url.Parse(h.URL)
	switch {
	case h.URL == "":
	case err != nil, address.Host == "", address.Scheme != "http" && address.Scheme != "https":
		c.add(at, "url", "is not an address: write it like https://host/path")
	case address.User != nil:
		c.add(at, "url", "must have no user and no password: secrets belong to the worker; see secret_headers")
	}
	if err == nil {
		for _, name := range slices.Sorted(maps.Keys(address.Query())) {
			if secretParameter.MatchString(name) {
				c.add(at, "url", "must have no secret in it, and %s looks like one: Temporal keeps the address for everybody to read; send it with secret_headers", name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		if secretHeader.MatchString(name) {
			c.add(at, "headers."+name, "must not be here, for everybody to read: write secret_headers: {%s: GODWIT_HTTP_…}, and give the worker that environment variable", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.SecretHeaders)) {
		if variable := h.SecretHeaders[name]; !secretVar.MatchString(variable) {
			c.add(at, "secret_headers."+name, "must be the name of an environment variable of the worker's that begins with GODWIT_HTTP_, not the secret itself")
		}
	}
	if h.Limit <= 0 {
		c.add(at, "limit", "must be longer than 0")
	}
}

// Describe says what a step does, in a few words.
func (s *Step) Describe() string {
	if m := s.Migration(); m != nil {
		if slot, err := slotFor(m.Kind); err == nil {
			return s.Kind() + " " + slot.part(m).title()
		}
	}
	switch {
	case s.Wait != nil && s.Wait.Between != "":
		return "wait for " + string(s.Wait.Between)
	case s.Wait != nil:
		return "wait until " + strings.Join(strings.Fields(s.Wait.Query), " ")
	case s.HTTP != nil:
		return fmt.Sprintf("%s %s", s.HTTP.Method, s.HTTP.URL)
	case s.Group != nil:
		return fmt.Sprintf("%d steps side by side", len(s.Group))
	}
	return "an operator says go on"
}
