package document

import (
	"reflect"
	"strconv"
	"strings"
)

// field is a field of a struct with what its tags say.
type field struct {
	index     []int
	name      string
	required  bool
	fallback  string // the default as it would be written
	defaulted bool
	min, max  *int64
}

// fieldsOf are the fields of a struct type, those of embedded structs included.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, sf := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous || !sf.IsExported() || name == "-" {
			continue
		}
		f := field{index: sf.Index, name: name}
		if f.name == "" {
			f.name = sf.Name
		}
		f.rules(sf.Tag.Get("jsonschema"))
		fields = append(fields, f)
	}
	return fields
}

func (f *field) rules(tag string) {
	for rule := range strings.SplitSeq(tag, ",") {
		word, value, _ := strings.Cut(rule, "=")
		switch word {
		case "required":
			f.required = true
		case "default":
			f.fallback, f.defaulted = value, true
		case "minimum":
			f.min = bound(value)
		case "maximum":
			f.max = bound(value)
		}
	}
}

func bound(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("document: " + text + " in a tag is not a number") // a tag is part of the program
	}
	return &n
}

// Chooser is a string type with a fixed set of values.
type Chooser interface {
	// Choices are the values that there are.
	Choices() []string
}

// Postponer is a type that knows fields, or values, which are described
// already but belong to a later version. They are mistakes of their own:
// honestly "not yet" instead of "unknown".
type Postponer interface {
	Later() []string
}

// Shorthand is a struct or a list that may also be written as a single text.
type Shorthand interface {
	// SetText fills the struct from the text.
	SetText(text string) error
}

// Countable is a struct that may also be written as a single whole number.
type Countable interface {
	// SetText fills the struct from the number's text.
	SetText(text string) error
	// IsCountable only tells it from other shorthands.
	IsCountable()
}

func later(t reflect.Type) []string {
	if p, ok := reflect.Zero(t).Interface().(Postponer); ok {
		return p.Later()
	}
	return nil
}
