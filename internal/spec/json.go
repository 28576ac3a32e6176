package spec

import (
	"encoding/json"
	"fmt"

	"godwit/internal/document"
)

// MarshalJSON writes a spec in the flat form of a spec file.
func (s Spec) MarshalJSON() ([]byte, error) {
	at, err := slotFor(s.Kind)
	if err != nil {
		return nil, fmt.Errorf("spec: kind %w", err)
	}
	p := at.part(&s)
	if p == nil {
		return nil, fmt.Errorf("spec: a spec of kind %s without its part", s.Kind)
	}
	common, err := json.Marshal(s.Common)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	own, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	// Both are objects with at least the fields that are always there.
	common[len(common)-1] = ','
	return append(common, own[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and any spec in JSON, as
// strictly as Parse reads YAML; its mistakes are the same, without places.
func (s *Spec) UnmarshalJSON(data []byte) error {
	root, err := document.ReadJSON(data)
	if err != nil {
		return err
	}
	parsed, err := read(root)
	if err != nil {
		return err
	}
	*s = *parsed
	return nil
}

// UnmarshalJSON reads an entry in either form: a name, or a mapping.
func (t *TableSpec) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		return t.SetText(name)
	}
	root, err := document.ReadJSON(data)
	if err != nil {
		return err
	}
	return root.Decode(t).Err()
}
