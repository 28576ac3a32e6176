package document

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth bounds how deep values are nested; nothing that is written by hand
// comes near it.
const maxDepth = 64

// ReadYAML reads a file that holds one YAML document, a mapping. The name is
// for the mistakes.
func ReadYAML(file string, data []byte) (*Node, error) {
	return readYAML(&yamlReader{file: file, anchors: map[string]*Node{}}, data)
}

// ReadSecretYAML is ReadYAML for a file that may hold secrets, also in the
// wrong place: mistakes describe a value without repeating it.
func ReadSecretYAML(file string, data []byte) (*Node, error) {
	return readYAML(&yamlReader{file: file, anchors: map[string]*Node{}, concealed: true}, data)
}

func readYAML(r *yamlReader, data []byte) (_ *Node, err error) {
	// The parser is another project's and files come from people: whatever it
	// stumbles over is wrong with the file, and no reason for a crash.
	defer func() {
		if cause := recover(); cause != nil {
			err = Mistakes{{File: r.file, Line: 1, Column: 1, Text: fmt.Sprintf("not readable as YAML: %v", cause)}}
		}
	}()
	if m := notUTF8(r.file, data); m != nil {
		return nil, m
	}
	parsed, err := parser.ParseBytes(bytes.TrimPrefix(data, []byte("\ufeff")), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, r.syntax(err)
	}
	root := r.only(parsed.Docs)
	if len(r.found) > 0 {
		return nil, r.found.Sorted()
	}
	if root.Shape != Mapping {
		return nil, Mistakes{r.mistake(root, "%s", notMapping(root))}
	}
	return root, nil
}

// notUTF8 names the first byte that is no part of a character.
func notUTF8(file string, data []byte) error {
	line, column := 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return Mistakes{{File: file, Line: line, Column: column, Text: "not UTF-8: save the file in that encoding"}}
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		data = data[size:]
	}
	return nil
}

type yamlReader struct {
	file      string
	concealed bool
	anchors   map[string]*Node
	depth     int
	found     Mistakes
}

func (r *yamlReader) mistake(at *Node, format string, args ...any) Mistake {
	return Mistake{File: r.file, Line: at.line, Column: at.column, Text: fmt.Sprintf(format, args...)}
}

func (r *yamlReader) syntax(err error) error {
	m := Mistake{File: r.file, Line: 1, Column: 1, Text: "not valid YAML"}
	var located yaml.Error
	if errors.As(err, &located) {
		if message := located.GetMessage(); !r.concealed || !strings.Contains(message, `"`) { // what it quotes is the file's
			m.Text += ": " + message
		}
		if at := located.GetToken(); at != nil && at.Position != nil {
			m.Line, m.Column = at.Position.Line, max(at.Position.Column, 1)
			if at.Type == token.AliasType {
				m.Text += "; text that begins with * must stand in quotes"
			}
		}
	}
	return Mistakes{m}
}

// only is the root of the one document that a file holds.
func (r *yamlReader) only(docs []*ast.DocumentNode) *Node {
	var root *Node
	for i, doc := range docs {
		switch {
		case doc.Body == nil:
			continue
		case doc.Body.Type() == ast.DirectiveType:
			r.add(doc.Body, "directives (%%YAML, %%TAG) are not used here: leave them out")
		case root != nil:
			r.add(doc.Body, "a second document: one file holds one, put it into a file of its own")
			return root
		default:
			root = r.node(docs[i].Body)
		}
	}
	if root == nil && len(r.found) == 0 {
		r.found = append(r.found, Mistake{File: r.file, Line: 1, Column: 1, Text: "the file is empty"})
	}
	return root
}

func (r *yamlReader) add(at ast.Node, format string, args ...any) {
	r.found = append(r.found, r.mistake(r.place(at), format, args...))
}

// place is a node without content at the place of a YAML node. A block mapping
// is where its first name is.
func (r *yamlReader) place(n ast.Node) *Node {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return r.place(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return r.place(m.Key)
	}
	placed := r.empty()
	if t := n.GetToken(); t != nil && t.Position != nil {
		placed.line, placed.column = t.Position.Line, max(t.Position.Column, 1)
	}
	return placed
}

func (r *yamlReader) empty() *Node {
	return &Node{file: r.file, line: 1, column: 1, concealed: r.concealed}
}

func (r *yamlReader) node(source ast.Node) *Node {
	if source == nil {
		return r.empty()
	}
	n := r.place(source)
	if r.depth++; r.depth > maxDepth {
		r.add(source, "nested too deeply")
		return n
	}
	defer func() { r.depth-- }()
	switch y := source.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.Shape, n.Text = Text, y.Value
	case *ast.LiteralNode:
		n.Shape, n.Text = Text, y.Value.Value
	case *ast.IntegerNode:
		n.Shape, n.Text = Integer, fmt.Sprint(y.Value)
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.Shape, n.Text = Decimal, source.GetToken().Value
	case *ast.BoolNode:
		n.Shape, n.Text = Boolean, strconv.FormatBool(y.Value)
	case *ast.SequenceNode:
		n.Shape = List
		for _, item := range y.Values {
			n.items = append(n.items, r.node(item))
		}
	case *ast.MappingNode:
		r.entries(n, y.Values)
	case *ast.MappingValueNode:
		r.entries(n, []*ast.MappingValueNode{y})
	case *ast.AnchorNode:
		return r.anchor(y)
	case *ast.AliasNode:
		return r.alias(y, n)
	case *ast.TagNode:
		r.add(source, "%s begins a YAML tag, and tags are not used here: text that begins with ! must stand in quotes",
			r.repeat(y.GetToken().Value))
	default:
		r.add(source, "%s is not used here", strings.ToLower(source.Type().String()))
	}
	return n
}

func (r *yamlReader) entries(n *Node, values []*ast.MappingValueNode) {
	n.Shape = Mapping
	for _, v := range values {
		at := r.place(v.Key)
		var key string
		switch k := v.Key.(type) {
		case *ast.StringNode:
			key = k.Value
		case *ast.MergeKeyNode:
			r.add(v.Key, "merging with << is not used here: write the fields out")
			continue
		default:
			key = v.Key.String()
		}
		n.entries = append(n.entries, entry{key: key, line: at.line, column: at.column, value: r.node(v.Value)})
	}
}

// anchor notes a value under its name once it is complete, so that it cannot
// contain itself.
func (r *yamlReader) anchor(y *ast.AnchorNode) *Node {
	n := r.node(y.Value)
	r.anchors[y.Name.String()] = n
	return n
}

// alias stands for the anchor's value and is the same node: a document grows
// no larger by it.
func (r *yamlReader) alias(y *ast.AliasNode, n *Node) *Node {
	name := y.Value.String()
	if known := r.anchors[name]; known != nil {
		return known
	}
	r.add(y, "%s stands for an anchor, and there is none of that name: text that begins with * must stand in quotes", r.repeat("*"+name))
	return n
}

func (r *yamlReader) repeat(text string) string {
	if r.concealed {
		return "this"
	}
	return text
}
