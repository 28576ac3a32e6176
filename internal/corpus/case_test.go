package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// folder is where the cases are.
const folder = "../../testdata/corpus"

// trial is a case on one engine.
type trial struct {
	name      string
	engine    sandbox.Kind
	source    []string       // makes the tables, also the reference's
	once      []string       // what there can be only one of, beside the table alone
	dml       [][]string     // what a writer does again and again: transactions
	spec      map[string]any // of the migration
	reference []string       // what is done to the reference in place of the ALTER
	want      expectation
}

// expectation is how a case ends.
type expectation struct {
	End     string   `yaml:"end"`     // success, refused (in preflight), or failed (later)
	Says    texts    `yaml:"says"`    // words of the error
	Engines []string `yaml:"engines"` // by default all that there are files for
	Writer  string   `yaml:"writer"`  // before: it stops before the cut-over
	Then    string   `yaml:"then"`    // rollback: after the success
	Queries []answer `yaml:"queries"`
}

// answer is what a query gives in the end: its rows in lines, columns with | in between.
type answer struct {
	SQL string `yaml:"sql"`
	Is  string `yaml:"is"`
}

// texts is a text, or a list of them.
type texts []string

func (l *texts) UnmarshalYAML(data []byte) error {
	var one string
	if err := yaml.Unmarshal(data, &one); err == nil {
		*l = texts{one}
		return nil
	}
	var many []string
	err := yaml.Unmarshal(data, &many)
	*l = many
	return err
}

// names are the cases that there are.
func names(t *testing.T) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			found = append(found, e.Name())
		}
	}
	require.NotEmpty(t, found)
	return found
}

// trials are those of a case: one for each engine that it has a source for.
func trials(t *testing.T, name string) (found []trial) {
	t.Helper()
	for _, engine := range sandbox.Kinds() {
		source, there := read(t, name, engine, "source", ".sql")
		if !there {
			continue
		}
		c := trial{name: name, engine: engine, source: statements(source)}
		text, there := read(t, name, engine, "spec", ".yaml")
		require.True(t, there, "%s has no spec.yaml for %s", name, engine)
		require.NoError(t, yaml.Unmarshal([]byte(text), &c.spec), "%s: spec", name)
		text, there = read(t, name, engine, "expect", "")
		require.True(t, there, "%s says nothing of what is expected on %s", name, engine)
		require.NoError(t, yaml.UnmarshalWithOptions([]byte(text), &c.want, yaml.Strict()), "%s: expect", name)
		require.Contains(t, []string{"success", "refused", "failed"}, c.want.End, "%s: end", name)
		require.Contains(t, []string{"", "before"}, c.want.Writer, "%s: writer", name)
		require.Contains(t, []string{"", "rollback"}, c.want.Then, "%s: then", name)
		require.Equal(t, c.want.End != "success", len(c.want.Says) > 0, "%s: a failure says something, and a success nothing", name)
		if len(c.want.Engines) > 0 && !slices.Contains(c.want.Engines, string(engine)) {
			continue
		}
		text, _ = read(t, name, engine, "once", ".sql")
		c.once = statements(text)
		text, _ = read(t, name, engine, "reference", ".sql")
		c.reference = statements(text)
		text, _ = read(t, name, engine, "dml", ".sql")
		c.dml = transactions(text)
		found = append(found, c)
	}
	require.NotEmpty(t, found, "%s has no source.sql", name)
	return found
}

// read reads a file of a case: the engine's own, that of its family, or that of all.
func read(t *testing.T, name string, engine sandbox.Kind, stem, end string) (text string, there bool) {
	t.Helper()
	places := []string{"." + string(engine), ""}
	if engine == sandbox.MariaDB {
		places = []string{".mariadb", ".mysql", ""}
	}
	for _, place := range places {
		data, err := os.ReadFile(filepath.Join(folder, name, stem+place+end))
		if err == nil {
			return string(data), true
		}
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	return "", false
}

// statements cuts a script where a line ends with a semicolon, but not within $$.
func statements(script string) (list []string) {
	var b strings.Builder
	quoted := false
	for line := range strings.Lines(script) {
		trimmed := strings.TrimSpace(line)
		if b.Len() == 0 && (trimmed == "" || strings.HasPrefix(trimmed, "--")) {
			continue
		}
		b.WriteString(line)
		quoted = quoted != (strings.Count(line, "$$")%2 == 1)
		if strings.HasSuffix(trimmed, ";") && !quoted {
			list = append(list, strings.TrimSuffix(strings.TrimSpace(b.String()), ";"))
			b.Reset()
		}
	}
	if rest := strings.TrimSpace(b.String()); rest != "" {
		list = append(list, rest)
	}
	return list
}

// transactions cuts a script at its empty lines.
func transactions(script string) (list [][]string) {
	for block := range strings.SplitSeq(strings.ReplaceAll(script, "\r\n", "\n"), "\n\n") {
		if one := statements(block); len(one) > 0 {
			list = append(list, one)
		}
	}
	return list
}

func (c *trial) postgres() bool { return c.engine == sandbox.Postgres }

// alter is the statement that the server itself alters the reference with.
func (c *trial) alter() string {
	return fmt.Sprintf("ALTER TABLE %s %v", c.quote(c.table()), c.spec["alter"])
}

// table is its name without a schema's.
func (c *trial) table() string {
	name := fmt.Sprint(c.spec["table"])
	return strings.TrimPrefix(name, "public.")
}

func (c *trial) quote(name string) string {
	if c.postgres() {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
