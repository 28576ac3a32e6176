package document

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"
)

// NotYet is what is said about a field or a value of a later version.
const NotYet = "not supported by this version yet"

// DecodeMap reads a mapping with any names into the map that the target points
// to.
func (n *Node) DecodeMap(target any) Mistakes {
	var d decoder
	d.mapping(n, "", reflect.ValueOf(target).Elem())
	return n.Locate(d.found)
}

// Decode reads a mapping's fields into the structs that the targets point to:
// each field into the first one that has it. What the document does not
// mention stays as it is. The targets are complete only when there is no
// mistake.
func (n *Node) Decode(targets ...any) Mistakes {
	var d decoder
	structs := make([]reflect.Value, len(targets))
	for i, t := range targets {
		structs[i] = reflect.ValueOf(t).Elem()
	}
	d.structs(n, "", structs...)
	return n.Locate(d.found)
}

func notMapping(n *Node) string { return "expected fields like \"name: value\", got " + n.String() }

type decoder struct{ found Mistakes }

func (d *decoder) fail(n *Node, path, format string, args ...any) {
	d.found.Add(path, format, args...)
	m := &d.found[len(d.found)-1]
	m.File, m.Line, m.Column = n.file, n.line, n.column
}

func (d *decoder) structs(n *Node, path string, structs ...reflect.Value) {
	if n.Shape != Mapping {
		d.fail(n, path, "%s", notMapping(n))
		return
	}
	var known, postponed []string
	homes := map[string]reflect.Value{}
	for _, s := range structs {
		postponed = append(postponed, later(s.Type())...)
		for _, f := range fieldsOf(s.Type()) {
			if _, taken := homes[f.name]; !taken {
				homes[f.name] = s.FieldByIndex(f.index)
				known = append(known, f.name)
			}
		}
	}
	seen := map[string]*entry{}
	for i := range n.entries {
		e := &n.entries[i]
		here := Join(path, e.key)
		at := &Node{file: n.file, line: e.line, column: e.column}
		home, is := homes[e.key]
		switch first := seen[e.key]; {
		case !is && slices.Contains(postponed, e.key):
			d.fail(at, here, NotYet)
		case !is && n.concealed: // whoever put a secret into braces made it a name
			d.fail(at, path, "has an unknown field here; %s", Suggest(e.key, known))
		case !is:
			d.fail(at, here, "unknown field; %s", Suggest(e.key, known))
		case first != nil && first.line > 0:
			d.fail(at, here, "given twice, the first time on line %d", first.line)
		case first != nil:
			d.fail(at, here, "given twice")
		default:
			d.value(e.value, here, home)
		}
		seen[e.key] = e
	}
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

func (d *decoder) value(n *Node, path string, v reflect.Value) {
	if n.Shape == Null {
		d.fail(n, path, "has no value: give it one or leave it out")
		return
	}
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		if fresh.Elem().Kind() == reflect.Struct {
			fill(fresh.Elem())
		}
		d.value(n, path, fresh.Elem())
		v.Set(fresh)
		return
	}
	if v.Addr().Type().Implements(textUnmarshaler) {
		d.text(n, path, v.Addr().Interface().(encoding.TextUnmarshaler))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if short, ok := v.Addr().Interface().(Shorthand); ok && n.Shape == Text {
			d.short(n, path, short)
			return
		}
		if short, ok := v.Addr().Interface().(Countable); ok && n.Shape == Integer {
			d.short(n, path, short)
			return
		}
		d.structs(n, path, v)
	case reflect.Slice:
		if short, ok := v.Addr().Interface().(Shorthand); ok && n.Shape == Text {
			d.short(n, path, short)
			return
		}
		d.list(n, path, v)
	case reflect.Map:
		d.mapping(n, path, v)
	case reflect.String:
		d.string(n, path, v)
	case reflect.Int, reflect.Int64:
		d.integer(n, path, v)
	case reflect.Bool:
		if n.Shape != Boolean {
			d.fail(n, path, "expected true or false, got %s", n)
			return
		}
		v.SetBool(n.Text == "true")
	default:
		panic("document: cannot read a " + v.Type().String()) // a struct is part of the program
	}
}

func (d *decoder) short(n *Node, path string, v Shorthand) {
	if err := v.SetText(n.Text); err != nil {
		d.fail(n, path, "%v", err)
	}
}

func (d *decoder) text(n *Node, path string, v encoding.TextUnmarshaler) {
	if n.Shape == List || n.Shape == Mapping {
		d.fail(n, path, "expected a single value, got %s", n)
		return
	}
	if err := v.UnmarshalText([]byte(n.Text)); err != nil {
		d.fail(n, path, "%v", err)
	}
}

func (d *decoder) list(n *Node, path string, v reflect.Value) {
	if n.Shape != List {
		d.fail(n, path, "expected a list, got %s", n)
		return
	}
	items := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		d.value(item, Item(path, i), items.Index(i))
	}
	v.Set(items)
}

func (d *decoder) mapping(n *Node, path string, v reflect.Value) {
	if n.Shape != Mapping {
		d.fail(n, path, "%s", notMapping(n))
		return
	}
	values := reflect.MakeMap(v.Type())
	for _, e := range n.entries {
		here := Join(path, e.key)
		key := reflect.ValueOf(e.key)
		if values.MapIndex(key).IsValid() {
			d.fail(&Node{file: n.file, line: e.line, column: e.column}, here, "given twice")
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.value, here, value)
		values.SetMapIndex(key, value)
	}
	v.Set(values)
}

func (d *decoder) string(n *Node, path string, v reflect.Value) {
	switch n.Shape {
	case Text:
		v.SetString(n.Text)
	case List, Mapping:
		d.fail(n, path, "expected text, got %s", n)
	default:
		d.fail(n, path, "expected text, got %s: put it in quotes if it is meant as text", n)
	}
}

func (d *decoder) integer(n *Node, path string, v reflect.Value) {
	i, err := strconv.ParseInt(n.Text, 10, 64)
	switch {
	case n.Shape == Decimal:
		d.fail(n, path, "expected a whole number, got %s", n.Text)
	case n.Shape != Integer:
		d.fail(n, path, "expected a number, got %s", n)
	case err != nil || v.OverflowInt(i):
		d.fail(n, path, "%s is too large a number", n.Text)
	default:
		v.SetInt(i)
	}
}
