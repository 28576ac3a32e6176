package document

import (
	"reflect"
	"slices"
)

// Fill gives every field of the struct that the target points to, and of the
// structs within, its default, where it has one and is still zero.
func Fill(target any) {
	fill(reflect.ValueOf(target).Elem())
}

func fill(s reflect.Value) {
	for _, f := range fieldsOf(s.Type()) {
		v := s.FieldByIndex(f.index)
		switch {
		case f.defaulted && v.IsZero():
			setDefault(f, v)
		case v.Kind() == reflect.Struct:
			fill(v)
		case v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct:
			fill(v.Elem())
		}
	}
}

// setDefault reads a default as if it stood in a document.
func setDefault(f field, v reflect.Value) {
	shape := Text
	target := v.Type()
	if target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	switch target.Kind() {
	case reflect.Int, reflect.Int64:
		shape = Integer
	case reflect.Bool:
		shape = Boolean
	}
	var d decoder
	d.value(&Node{Shape: shape, Text: f.fallback}, f.name, v)
	if err := d.found.Err(); err != nil {
		panic("document: the default in a tag: " + err.Error()) // a tag is part of the program
	}
}

// Check finds what the rules of the tags and types say about the struct that
// the target points to. The node is the mapping it was read from, or nil: with
// it, a zero that is written there is told from a field that is not set.
func Check(target any, n *Node) Mistakes {
	var found Mistakes
	check(&found, reflect.ValueOf(target).Elem(), n, "")
	return found
}

func check(found *Mistakes, s reflect.Value, n *Node, path string) {
	for _, f := range fieldsOf(s.Type()) {
		v, here, written := s.FieldByIndex(f.index), Join(path, f.name), n.Field(f.name)
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				continue
			}
			v = v.Elem()
		}
		switch {
		case f.required && v.IsZero():
			found.Add(here, "is missing")
		case v.Kind() == reflect.Struct:
			check(found, v, written, here)
		case v.IsZero() && !f.defaulted && written == nil: // not set
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
			for i := range v.Len() {
				check(found, v.Index(i), written.item(i), Item(here, i))
			}
		default:
			checkScalar(found, f, v, here)
		}
	}
}

func (n *Node) item(i int) *Node {
	if n == nil || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

func checkScalar(found *Mistakes, f field, v reflect.Value, here string) {
	if chooser, ok := v.Interface().(Chooser); ok {
		value, choices := v.String(), chooser.Choices()
		switch {
		case slices.Contains(choices, value):
		case slices.Contains(later(v.Type()), value):
			found.Add(here, "%q is %s; %s", value, NotYet, Suggest("", choices))
		default:
			found.Add(here, "%q is not a valid choice; %s", value, Suggest(value, choices))
		}
		return
	}
	if !v.CanInt() {
		return
	}
	switch i := v.Int(); {
	case f.min != nil && f.max != nil && (i < *f.min || i > *f.max):
		found.Add(here, "%d is out of range: from %d to %d", i, *f.min, *f.max)
	case f.min != nil && i < *f.min:
		found.Add(here, "%d is too small: at least %d", i, *f.min)
	case f.max != nil && i > *f.max:
		found.Add(here, "%d is too large: at most %d", i, *f.max)
	}
}
