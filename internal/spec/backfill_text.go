package spec

import (
	"encoding/json"

	"github.com/invopop/jsonschema"
)

// SetText reads a single statement.
func (s *Statements) SetText(text string) error {
	*s = Statements{text}
	return nil
}

// MarshalJSON writes a single statement as such.
func (s Statements) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

// schema allows both forms.
func (Statements) schema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "string", MinLength: new(uint64(1))},
		{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: new(uint64(1))},
	}}
}

// UnmarshalText takes over a text, a number or a truth value as it is written.
func (v *Scalar) UnmarshalText(text []byte) error {
	*v = Scalar(text)
	return nil
}

// schema allows every single value.
func (Scalar) schema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}
