// Package printer is the one way in which the CLI says anything, as text for
// people or as JSON for programs.
//
// It promises that data goes to standard output and everything else to
// standard error, that JSON output is one document per verb, or one document
// per line for a stream, and that both forms have the same content. How a
// thing looks as text is the business of package view.
package printer

import (
	"encoding/json"
	"fmt"
	"io"
)

// Format is a form of output.
type Format string

// The forms of output.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Formats lists the forms of output.
var Formats = []Format{Text, JSON}

// Printer prints in one form.
type Printer struct {
	out, notes io.Writer
	format     Format
}

// New makes a printer of data to out and of remarks to notes.
func New(out, notes io.Writer, format Format) *Printer {
	return &Printer{out: out, notes: notes, format: format}
}

// JSON reports whether programs read the output.
func (p *Printer) JSON() bool { return p.format == JSON }

// Document prints the one answer of a verb: the value as JSON, or what text
// writes of it.
func (p *Printer) Document(value any, text func(w io.Writer) error) error {
	if !p.JSON() {
		return text(p.out)
	}
	return p.encode(value, "  ")
}

// Line prints one element of a stream: the value as JSON on one line, or the
// text.
func (p *Printer) Line(value any, text string) error {
	if p.JSON() {
		return p.encode(value, "")
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}

// Note says something to the user that is not data.
func (p *Printer) Note(format string, args ...any) {
	fmt.Fprintf(p.notes, format+"\n", args...)
}

func (p *Printer) encode(value any, indent string) error {
	encoder := json.NewEncoder(p.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	return encoder.Encode(value)
}
