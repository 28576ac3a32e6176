package spec

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

func compiledSchema(t *testing.T) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	written, err := JSONSchema()
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(written))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("spec.json", parsed))
	schema, err := compiler.Compile("spec.json")
	require.NoError(t, err)
	return schema, parsed.(map[string]any)
}

func yamlValue(t *testing.T, text string) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	require.NoError(t, err)
	return value
}

func TestTheSchemaIsOfDraft2020AndAcceptsTheExamples(t *testing.T) {
	schema, parsed := compiledSchema(t)
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", parsed["$schema"])
	for _, name := range []string{"short.yaml", "full.yaml"} {
		require.NoError(t, schema.Validate(yamlValue(t, string(readExample(t, name)))), name)
	}
}

func TestTheSchemaRefusesWhatParseRefuses(t *testing.T) {
	schema, _ := compiledSchema(t)
	for _, more := range []string{
		"tabels: [a]", "priority: 6", "priority: high", "mode: live", "tables: []", "tables: [{to: a}]", "tables: ['']",
		"cutover: {timeout: 30}", "cutover: {timeout: soon}", "shards: {rows: 9}", "shards: {parallel: 65}",
		"verify: {mode: sum}", "notify: {}", "retry: {attempts: 0}", "throttle: {max_lag: 2}", "throttle: fast", "throttle: {max_log_growth: {then: stop}}",
	} {
		require.Error(t, schema.Validate(yamlValue(t, good+more+"\n")), more)
		_, err := Parse("s.yaml", []byte(good+more+"\n"))
		require.Error(t, err, more)
	}
	for _, file := range []string{"kind: copy\nsource: a\n", "kind: ddl\nsource: a\ntarget: b\n", "kind: copy\nsource: a b\ntarget: b\n"} {
		require.Error(t, schema.Validate(yamlValue(t, file)), file)
	}
}

func TestEveryFieldInTheSchemaIsDescribedAndStatesItsDefault(t *testing.T) {
	_, parsed := compiledSchema(t)
	fields := 0
	for name, definition := range parsed["$defs"].(map[string]any) {
		d := definition.(map[string]any)
		require.NotEmpty(t, d["description"], name)
		if forms, ok := d["oneOf"].([]any); ok {
			d = forms[1].(map[string]any)
		}
		require.Equal(t, false, d["additionalProperties"], name)
		for field, property := range d["properties"].(map[string]any) {
			p := property.(map[string]any)
			description, _ := p["description"].(string)
			require.NotEmpty(t, description, "%s.%s", name, field)
			if p["default"] != nil {
				require.Contains(t, description, "default", "%s.%s", name, field)
			}
			if value, ok := p["default"].(string); ok {
				require.True(t, strings.Contains(description, value), "%s.%s does not state its default %s", name, field, value)
			}
			fields++
		}
	}
	require.Greater(t, fields, 40)
}
