// Package document reads a document that people write, in YAML, or that
// programs exchange, in JSON, into Go structs, and is strict about it.
//
// It promises that nothing in a document is ignored or guessed: a field that
// the struct does not have, a field given twice, a value of another type, a
// choice that is none and a number out of range are mistakes, and all mistakes
// of a document are reported together, each with file, line, column, field and
// the nearest valid name. Only a document that is no YAML or JSON at all is
// reported by its first mistake alone.
//
// A struct says by its tags what its fields are called and what may be in them:
//
//	Priority int `json:"priority" jsonschema:"default=3,minimum=1,maximum=5"`
//
// The json tag gives the name. Of the jsonschema tag, which the JSON Schema is
// made from as well, it reads required, default, minimum and maximum. Types may
// say more about themselves: see Chooser, Postponer and Shorthand; what is an
// encoding.TextUnmarshaler is read from a scalar.
//
// What fields mean together is left to the owner of the struct, who can report
// it as mistakes with the same positions: see Node.Locate. Lines and columns
// count from 1, columns in characters.
package document
