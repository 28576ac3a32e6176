package connection

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"godwit/internal/document"
	"godwit/internal/fault"
	"godwit/internal/task"
)

const (
	defaultPool = 12
	maxPool     = 1000

	// By default so many migrations and shards run on a connection at once. A
	// shard needs two sessions, so whoever wants more enlarges the pool.
	defaultMigrations = 4
	defaultShards     = 8
	maxLimit          = 1000
)

// Registry is the connections that a worker knows.
type Registry struct {
	// byName has them by their folded names.
	byName map[string]*Connection
}

// Load reads the connections from a YAML file, unless its name is empty, and
// from the environment (os.Environ), which wins. Whatever is wrong is reported
// at once, as document.Mistakes, one per line. No server is asked.
func Load(file string, environ []string) (*Registry, error) {
	definitions, mistakes, err := fromFile(file, environ)
	if err != nil {
		return nil, err
	}
	fromEnvironment, more := fromEnvironment(environ)
	mistakes = append(mistakes, more...)
	for folded, d := range fromEnvironment {
		if hidden, found := definitions[folded]; found {
			d.origin += ", instead of " + hidden.origin
		}
		definitions[folded] = d
	}
	r := &Registry{byName: map[string]*Connection{}}
	for _, folded := range slices.Sorted(maps.Keys(definitions)) {
		c, found := definitions[folded].connection()
		mistakes = append(mistakes, found...)
		r.byName[folded] = c
	}
	if err := mistakes.Sorted().Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// Names are the connections' names, sorted.
func (r *Registry) Names() []string {
	names := []string{}
	for _, c := range r.byName {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// Get finds a connection. Its error says what is there, and how to define what
// is not.
func (r *Registry) Get(name string) (*Connection, error) {
	if c := r.byName[fold(name)]; c != nil {
		return c, nil
	}
	if !validName(name) {
		return nil, fault.New(task.Config, "a connection's name consists of letters, digits, _ and -, and this is none")
	}
	known := "it knows none yet"
	if names := r.Names(); len(names) > 0 {
		known = document.Suggest(name, names)
	}
	return nil, fault.New(task.Config, "the worker has no connection %q; %s; to define it, set %s=mysql://… or postgres://… "+
		"in the worker's environment, or add it to its file of connections", name, known, variable(name))
}

// Close closes all pools. Connections cannot be opened afterwards.
func (r *Registry) Close() {
	for _, c := range r.byName {
		c.close()
	}
}

// String is the names, for people.
func (r *Registry) String() string { return strings.Join(r.Names(), ", ") }

// GoString is the same for %#v.
func (r *Registry) GoString() string { return "connections " + r.String() }

// LogValue is what logs show of a registry.
func (r *Registry) LogValue() slog.Value { return slog.AnyValue(r.Names()) }

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func validName(name string) bool { return namePattern.MatchString(name) }

// fold makes names that mean the same connection equal.
func fold(name string) string { return task.FoldConnection(name) }

// variable is the environment variable that defines a connection.
func variable(name string) string { return variablePrefix + strings.ToUpper(fold(name)) }

// definition is a connection as it was written down.
type definition struct {
	name   string
	origin string
	entry
	// place makes a mistake of a field of the definition.
	place func(field, text string) document.Mistake
	// lookup finds an environment variable.
	lookup func(name string) (string, bool)
}

// connection makes the connection, or finds all that is wrong with it.
func (d *definition) connection() (*Connection, document.Mistakes) {
	var mistakes document.Mistakes
	fail := func(field, format string, args ...any) {
		mistakes = append(mistakes, d.place(field, fmt.Sprintf(format, args...)))
	}
	if d.URL == "" {
		fail("url", "is missing: write it like mysql://user@host:3306/database")
		return nil, mistakes
	}
	parsed, err := parseURL(d.URL)
	if err != nil {
		fail("url", "%v", err)
		return nil, mistakes
	}
	c := &Connection{
		Name: strings.ToLower(d.name), Engine: parsed.engine, Pool: defaultPool,
		address: parsed.address, origin: d.origin, opening: make(chan struct{}, 1),
	}
	for _, pool := range []int{parsed.pool, d.Pool} {
		if pool != 0 {
			c.Pool = pool
		}
	}
	c.Limits = task.Limits{
		Migrations: cmp.Or(d.Limits.Migrations, parsed.limits.Migrations, defaultMigrations),
		Shards:     cmp.Or(d.Limits.Shards, parsed.limits.Shards, max(defaultShards, c.Pool/2)),
	}
	if c.tls, err = d.encryption(parsed.tls, parsed.address); err != nil {
		fail("tls", "%v", err)
	}
	if c.password, err = d.secret(parsed); err != nil {
		fail(d.passwordField(), "%v", err)
	}
	return c, mistakes
}
