package connection

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"godwit/internal/document"
	"godwit/internal/fault"
	"godwit/internal/task"
)

const variablePrefix = "GODWIT_CONNECTION_"

// fromEnvironment reads the definitions in variables, by folded name.
func fromEnvironment(environ []string) (map[string]*definition, document.Mistakes) {
	definitions := map[string]*definition{}
	var mistakes document.Mistakes
	for _, assignment := range environ {
		key, url, _ := strings.Cut(assignment, "=")
		name, found := strings.CutPrefix(key, variablePrefix)
		if !found {
			continue
		}
		place := func(_, text string) document.Mistake {
			return document.Mistake{Text: "the value of " + key + " " + text}
		}
		switch first := definitions[fold(name)]; {
		case !validName(name):
			mistakes = append(mistakes, document.Mistake{
				Text: fmt.Sprintf("%s names no connection: after %s come letters, digits and _", key, variablePrefix)})
		case first != nil:
			mistakes = append(mistakes, document.Mistake{Text: key + " and " + first.origin + " define the same connection: keep one"})
		case url == "":
			mistakes = append(mistakes, place("", "is empty: set it to a URL like mysql://user:password@host:3306/database, or unset it"))
		default:
			definitions[fold(name)] = &definition{name: name, origin: key, entry: entry{URL: url}, place: place}
		}
	}
	return definitions, mistakes
}

// fromFile reads the definitions in a file, by folded name.
func fromFile(file string, environ []string) (map[string]*definition, document.Mistakes, error) {
	definitions := map[string]*definition{}
	if file == "" {
		return definitions, nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fault.New(task.Config, "the file of connections cannot be read: %w", err)
	}
	root, err := document.ReadSecretYAML(file, data)
	if err != nil {
		return nil, nil, err
	}
	if mistakes := badNames(root); len(mistakes) > 0 {
		return nil, nil, mistakes
	}
	var entries map[string]entry
	mistakes := root.DecodeMap(&entries)
	for name, e := range entries {
		node := root.Field(name)
		unread := mistakes.Within(name)
		for _, m := range document.Check(&e, node) {
			m.Field = document.Join(name, m.Field)
			if !mistakes.Under(m.Field) {
				mistakes = append(mistakes, root.Locate(document.Mistakes{m})...)
			}
		}
		if unread {
			continue
		}
		resolve(filepath.Dir(file), &e.PasswordFile, &e.TLS.CA, &e.TLS.Cert, &e.TLS.Key)
		definitions[fold(name)] = &definition{
			name: name, origin: node.Position(), entry: e, lookup: lookupIn(environ),
			place: func(field, text string) document.Mistake {
				return root.Locate(document.Mistakes{{Field: document.Join(name, field), Text: text}})[0]
			},
		}
	}
	return definitions, mistakes, nil
}

// badNames checks the names before anything else, and does not repeat them
// where they may be addresses.
func badNames(root *document.Node) document.Mistakes {
	var mistakes document.Mistakes
	first := map[string]string{}
	for _, name := range root.Fields() {
		switch other, taken := first[fold(name)]; {
		case !validName(name):
			mistakes = append(mistakes, root.AtName(name, "a connection's name consists of letters, digits, _ and -; "+
				"write it like \"legacy: mysql://user@host:3306/database\""))
		case taken && other != name:
			mistakes.Add(name, "is the same connection as %q: keep one", other)
		}
		first[fold(name)] = name
	}
	return root.Locate(mistakes)
}

// resolve makes paths relative to the folder of the file they stand in.
func resolve(folder string, paths ...*string) {
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
}

func lookupIn(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, assignment := range environ {
			if key, value, _ := strings.Cut(assignment, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}
