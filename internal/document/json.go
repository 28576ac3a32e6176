package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadJSON reads one JSON object. Mistakes in it have no place: nobody reads
// such a document by lines.
func ReadJSON(data []byte) (*Node, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	root, err := jsonNode(d)
	if err != nil {
		return nil, Mistakes{{Text: fmt.Sprintf("not valid JSON: %v", err)}}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, Mistakes{{Text: "not valid JSON: something follows the object"}}
	}
	if root.Shape != Mapping {
		return nil, Mistakes{{Text: notMapping(root)}}
	}
	return root, nil
}

func jsonNode(d *json.Decoder) (*Node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := t.(type) {
	case string:
		return &Node{Shape: Text, Text: v}, nil
	case bool:
		return &Node{Shape: Boolean, Text: fmt.Sprint(v)}, nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return &Node{Shape: Decimal, Text: v.String()}, nil
		}
		return &Node{Shape: Integer, Text: v.String()}, nil
	case json.Delim:
		if v == '[' {
			return jsonList(d)
		}
		return jsonMapping(d)
	default:
		return &Node{Shape: Null}, nil
	}
}

func jsonList(d *json.Decoder) (*Node, error) {
	n := &Node{Shape: List}
	for d.More() {
		item, err := jsonNode(d)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.Token()
	return n, err
}

func jsonMapping(d *json.Decoder) (*Node, error) {
	n := &Node{Shape: Mapping}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := jsonNode(d)
		if err != nil {
			return nil, err
		}
		n.entries = append(n.entries, entry{key: fmt.Sprint(key), value: value})
	}
	_, err := d.Token()
	return n, err
}
