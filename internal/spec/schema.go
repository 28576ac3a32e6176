package spec

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"

	"godwit/internal/document"
	"godwit/internal/task"
)

// typeFiles are the files whose comments are the descriptions in the schema.
//
//go:embed spec.go copy.go throttle.go backfill.go ddl.go reindex.go sql.go pipeline.go
var typeFiles embed.FS

// JSONSchema is the JSON Schema (draft 2020-12) of a spec file.
func JSONSchema() ([]byte, error) {
	root := &jsonschema.Schema{Version: jsonschema.Version, Title: "Godwit migration", Definitions: jsonschema.Definitions{}}
	for _, k := range kinds {
		definition, err := k.schema(root.Definitions)
		if err != nil {
			return nil, err
		}
		root.Definitions[string(k.kind)] = definition
		root.OneOf = append(root.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + string(k.kind)})
	}
	return json.MarshalIndent(root, "", "  ")
}

// schema is the schema of one kind: the fields of Common and of its own part
// side by side. The types that it refers to go to definitions.
func (k slot) schema(definitions jsonschema.Definitions) (*jsonschema.Schema, error) {
	comments, err := comments()
	if err != nil {
		return nil, err
	}
	reflector := &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		LookupComment: func(t reflect.Type, field string) string { return describe(comments, t, field) },
		Mapper:        k.scalar,
	}
	whole := reflector.Reflect(&Common{})
	own := reflector.Reflect(k.make(&Spec{}))
	whole.Version, whole.Description = "", own.Description
	for pair := own.Properties.Oldest(); pair != nil; pair = pair.Next() {
		whole.Properties.Set(pair.Key, pair.Value)
	}
	whole.Required = append(whole.Required, own.Required...)
	maps.Copy(definitions, whole.Definitions)
	maps.Copy(definitions, own.Definitions)
	whole.Definitions = nil
	return whole, nil
}

// describe is the comment of a type, or of its field under the name that the
// field has in a file.
func describe(comments map[string]string, t reflect.Type, name string) string {
	if name == "" {
		return comments[t.Name()]
	}
	text := comments[t.Name()+"."+name]
	field, _ := t.FieldByName(name)
	written, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if rest, found := strings.CutPrefix(text, name+" "); found && strings.Contains(written, "_") {
		return written + " " + rest
	}
	return text
}

// scalar is the schema of the types that are written as one word.
func (k slot) scalar(t reflect.Type) *jsonschema.Schema {
	switch v := reflect.Zero(t).Interface().(type) {
	case task.Kind:
		return &jsonschema.Schema{Type: "string", Const: k.kind}
	case Duration:
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
	case Size:
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", Pattern: sizePattern}, {Type: "integer", Minimum: "0"}}}
	case interface{ schema() *jsonschema.Schema }:
		return v.schema()
	case document.Chooser:
		s := &jsonschema.Schema{Type: "string"}
		for _, choice := range v.Choices() {
			s.Enum = append(s.Enum, choice)
		}
		return s
	}
	return nil
}

// JSONSchemaExtend adds the short form of an entry to its schema.
func (TableSpec) JSONSchemaExtend(s *jsonschema.Schema) {
	mapping := *s
	mapping.Description = ""
	*s = jsonschema.Schema{
		Description: s.Description,
		OneOf:       []*jsonschema.Schema{{Type: "string", MinLength: new(uint64(1))}, &mapping},
	}
}

// comments are the comments of the types and of their fields, by Type and
// Type.Field, each as one line.
var comments = sync.OnceValues(func() (map[string]string, error) {
	found := map[string]string{}
	files, err := typeFiles.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		source, err := typeFiles.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the comments of the spec: %w", err)
		}
		for _, declaration := range parsed.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				collect(found, d)
			}
		}
	}
	return found, nil
})

func collect(found map[string]string, d *ast.GenDecl) {
	for _, s := range d.Specs {
		t := s.(*ast.TypeSpec)
		found[t.Name.Name] = line(d.Doc)
		if structure, ok := t.Type.(*ast.StructType); ok {
			for _, f := range structure.Fields.List {
				for _, name := range f.Names {
					found[t.Name.Name+"."+name.Name] = line(f.Doc)
				}
			}
		}
	}
}

func line(comment *ast.CommentGroup) string { return strings.Join(strings.Fields(comment.Text()), " ") }
