package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prefixes are how the fields of the schema's parts begin in docs/spec.md.
var prefixes = map[string]string{
	"copy": "", "Timeouts": "timeouts.", "Retry": "retry.", "Throttle": "throttle.", "Verify": "verify.",
	"LogGrowth": "throttle.max_log_growth.", "FreeDisk": "throttle.min_free_disk.", "QueryGuard": "throttle.query.",
	"TableSpec": "tables[].", "Shards": "shards.", "CopyCutover": "cutover.",
}

// schemaFields are the schema's properties by the names that users write.
func schemaFields(t *testing.T) map[string]map[string]any {
	t.Helper()
	_, parsed := compiledSchema(t)
	fields := map[string]map[string]any{}
	for name, definition := range parsed["$defs"].(map[string]any) {
		prefix, known := prefixes[name]
		require.True(t, known, "the schema's part %s has no section in docs/spec.md", name)
		d := definition.(map[string]any)
		if forms, ok := d["oneOf"].([]any); ok {
			d = forms[1].(map[string]any)
		}
		for field, property := range d["properties"].(map[string]any) {
			fields[prefix+field] = property.(map[string]any)
		}
	}
	return fields
}

// fieldLine is a line of a table of fields.
var fieldLine = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*$")

func TestEveryFieldIsDocumentedWithItsDefaultAndChoicesAndNothingElseIs(t *testing.T) {
	fields := schemaFields(t)
	documented := 0
	for _, line := range fieldLine.FindAllStringSubmatch(page(t, "../../docs/spec.md"), -1) {
		field := fields[line[1]]
		require.NotNil(t, field, "docs/spec.md has a line for %s, which is no field", line[1])
		if value, found := field["default"]; found {
			require.Contains(t, line[0], fmt.Sprintf("| `%v`", value), "the default of %s", line[1])
		}
		choices, _ := field["enum"].([]any)
		for _, choice := range choices {
			require.Contains(t, line[0], fmt.Sprintf("`%v`", choice), "a choice of %s", line[1])
		}
		documented++
	}
	require.Equal(t, len(fields), documented, "fields that docs/spec.md has a line for")
}

func TestTheExamplesInTheDocumentationAreSpecs(t *testing.T) {
	example := regexp.MustCompile("(?s)```yaml\n(kind:.*?)```")
	specs := 0
	for _, file := range pages(t) {
		for _, block := range example.FindAllStringSubmatch(page(t, file), -1) {
			_, err := Parse(file, []byte(block[1]))
			require.NoError(t, err, block[1])
			specs++
		}
	}
	require.GreaterOrEqual(t, specs, 2)
}

func TestTheLinksInTheDocumentationLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`(?:\]\(|src=")([^():#"]*)(?:#([^)]+))?[)"]`)
	for _, file := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(page(t, file), -1) {
			linked := file
			if found[1] != "" {
				linked = filepath.Join(filepath.Dir(file), found[1])
			}
			text := page(t, linked)
			if found[2] != "" {
				require.Contains(t, anchors(text), found[2], "%s links to %s", file, found[0])
			}
		}
	}
}

// anchors are the names by which the headings of a page are linked to.
func anchors(text string) []string {
	var names []string
	for _, heading := range regexp.MustCompile("(?m)^#+ (.+)$").FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

func page(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// pages are the files of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return append(files, "../../README.md", "../../CONTRIBUTING.md")
}
