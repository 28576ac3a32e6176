package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prefixes are how the fields of the schema's parts begin in docs/spec.md, after
// the kind in whose section they are.
var prefixes = map[string]string{
	"copy": "copy/", "backfill": "backfill/",
	"Timeouts": "timeouts.", "Retry": "retry.", "Throttle": "throttle.", "Verify": "verify.",
	"LogGrowth": "throttle.max_log_growth.", "FreeDisk": "throttle.min_free_disk.", "QueryGuard": "throttle.query.", "ChangelogLimit": "throttle.max_changelog.",
	"TableSpec": "copy/tables[].", "Shards": "copy/shards.", "CopyCutover": "copy/cutover.",
	"ddl": "ddl/", "DDLCutover": "ddl/cutover.", "KillBlockers": "ddl/kill_blockers.",
	"reindex": "reindex/", "Bloat": "reindex/bloat.", "Build": "reindex/build.", "Critical": "reindex/critical.", "IndexShards": "reindex/shards.", "ReindexCutover": "reindex/cutover.",
	"sql":      "sql/",
	"pipeline": "pipeline/", "Step": "pipeline/steps[].", "Condition": "pipeline/steps[].when.", "WaitStep": "pipeline/steps[].wait.", "HTTPStep": "pipeline/steps[].http.",
	"QueryCheck": "backfill/check.", "Chunks": "backfill/chunks.", "BackfillCutover": "backfill/cutover.",
}

// elsewhere are parts whose fields are those of a kind, and documented there.
var elsewhere = []string{"CopyStep", "DDLStep", "BackfillStep", "ReindexStep", "SQLStep"}

// schemaFields are the schema's properties by the names that users write.
func schemaFields(t *testing.T) map[string]map[string]any {
	t.Helper()
	_, parsed := compiledSchema(t)
	fields := map[string]map[string]any{}
	for name, definition := range parsed["$defs"].(map[string]any) {
		if slices.Contains(elsewhere, name) {
			continue
		}
		prefix, known := prefixes[name]
		require.True(t, known, "the schema's part %s has no section in docs/spec.md", name)
		d := definition.(map[string]any)
		if forms, ok := d["oneOf"].([]any); ok {
			d = forms[1].(map[string]any)
		}
		for field, property := range d["properties"].(map[string]any) {
			if isKind(name) && isCommon(field) {
				fields[field] = property.(map[string]any)
				continue
			}
			fields[prefix+field] = property.(map[string]any)
		}
	}
	return fields
}

func isKind(name string) bool {
	return slices.ContainsFunc(kinds, func(k slot) bool { return string(k.kind) == name })
}

// isCommon reports whether every kind has the field.
func isCommon(field string) bool {
	t := reflect.TypeFor[Common]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name == field {
			return true
		}
	}
	return false
}

// sections are the parts of docs/spec.md by the kind that they are about, ""
// for what is about every kind.
func sections(text string) map[string]string {
	found := map[string]string{}
	for _, part := range strings.Split(text, "\n## ") {
		kind := ""
		if rest, is := strings.CutPrefix(part, "kind: "); is {
			kind, _, _ = strings.Cut(rest, "\n")
			kind += "/"
		}
		found[kind] += part + "\n"
	}
	return found
}

// fieldLine is a line of a table of fields.
var fieldLine = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*$")

func TestEveryFieldIsDocumentedWithItsDefaultAndChoicesAndNothingElseIs(t *testing.T) {
	fields := schemaFields(t)
	documented := 0
	for kind, text := range sections(page(t, "../../docs/spec.md")) {
		documented += checkLines(t, kind, text, fields)
	}
	require.Equal(t, len(fields), documented, "fields that docs/spec.md has a line for")
}

// checkLines checks the lines of a section and returns how many there are.
func checkLines(t *testing.T, kind, text string, fields map[string]map[string]any) (documented int) {
	for _, line := range fieldLine.FindAllStringSubmatch(text, -1) {
		field := fields[kind+line[1]]
		require.NotNil(t, field, "docs/spec.md has a line for %s%s, which is no field", kind, line[1])
		if value, found := field["default"]; found {
			require.Contains(t, line[0], fmt.Sprintf("| `%v`", value), "the default of %s", line[1])
		}
		choices, _ := field["enum"].([]any)
		for _, choice := range choices {
			require.Contains(t, line[0], fmt.Sprintf("`%v`", choice), "a choice of %s", line[1])
		}
		documented++
	}
	return documented
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
