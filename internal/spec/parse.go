package spec

import (
	"godwit/internal/document"
	"godwit/internal/task"
)

// Parse reads a spec file. The name is the file's, for the mistakes, which come
// all at once as document.Mistakes.
func Parse(name string, data []byte) (*Spec, error) {
	root, err := document.ReadYAML(name, data)
	if err != nil {
		return nil, err
	}
	return read(root)
}

func read(root *document.Node) (*Spec, error) {
	s, mistakes := assemble(root)
	if err := root.Locate(mistakes).Sorted().Err(); err != nil {
		return nil, err
	}
	s.entitle()
	return s, nil
}

// assemble reads a spec over the defaults, so that a zero in the document wins
// over them.
func assemble(root *document.Node) (*Spec, document.Mistakes) {
	var kind task.Kind
	if n := root.Field("kind"); n != nil {
		kind = task.Kind(n.Text)
	}
	s, err := New(kind)
	if err != nil {
		return nil, misread(root, kind)
	}
	mistakes := s.decode(root)
	for _, m := range s.check(root) {
		if !mistakes.Under(m.Field) {
			mistakes = append(mistakes, m)
		}
	}
	return s, mistakes
}

// misread are the mistakes of a document whose kind is none. Its other fields
// may belong to any kind; those that belong to none are mistakes anyway.
func misread(root *document.Node, kind task.Kind) document.Mistakes {
	var anything Spec
	for _, k := range kinds {
		k.make(&anything)
	}
	mistakes := anything.decode(root)
	if _, err := slotFor(kind); !mistakes.Under("kind") {
		mistakes.Add("kind", "%v", err)
	}
	return mistakes
}

// decode reads the document's fields into Common and the parts that are set.
func (s *Spec) decode(root *document.Node) document.Mistakes {
	targets := []any{&s.Common}
	for _, k := range kinds {
		if p := k.part(s); p != nil {
			targets = append(targets, p)
		}
	}
	return root.Decode(targets...)
}
