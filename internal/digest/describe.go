package digest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"godwit/internal/task"
)

// What a difference can be.
const (
	missing   = "missing"   // in the source only
	extra     = "extra"     // in the target only
	different = "different" // the key is on both sides, other columns are not the same
)

// maxRowText is how much of a row is shown that has no key, in bytes.
const maxRowText = 400

// describe says what is different about the rows of a key. Rows with the same
// key are set against each other in the order in which they came.
func (d *differ) describe(e *exhibit) []task.Difference {
	source, target := e.only(0), e.only(1)
	var differences []task.Difference
	both := min(len(source), len(target))
	for i := range both {
		differences = append(differences, task.Difference{
			Table: d.opts.Table, What: different, Key: d.keyText(source[i]), Columns: d.columns(source[i], target[i]),
		})
	}
	for _, im := range source[both:] {
		differences = append(differences, d.lone(missing, im, im.count, e.count(1, im.row)))
	}
	for _, im := range target[both:] {
		differences = append(differences, d.lone(extra, im, e.count(0, im.row), im.count))
	}
	if len(differences) == 0 {
		// So many rows have this key that the differing one is not among those kept.
		differences = append(differences, d.lone(different, slices.Concat(e.sides[0], e.sides[1])[0], e.sums[0].Rows, e.sums[1].Rows))
	}
	return differences
}

// lone is a row that one side has, or has more often.
func (d *differ) lone(what string, im *image, source, target int64) task.Difference {
	key := d.keyText(im)
	if source+target > 1 {
		key += fmt.Sprintf(" (%s in the source, %s in the target)", times(source), times(target))
	}
	return task.Difference{Table: d.opts.Table, What: what, Key: key}
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

func (d *differ) columns(source, target *image) []task.ColumnDiff {
	var columns []task.ColumnDiff
	for i := range source.values {
		if source.values[i].hash != target.values[i].hash {
			s, t := legible(source.values[i].shown, target.values[i].shown)
			columns = append(columns, task.ColumnDiff{Column: d.form.Name(i), Source: s, Target: t})
		}
	}
	return columns
}

// keyText shows a key as engine.Key does: 42, or (7, 'abc'). Without a key it
// is the whole row.
func (d *differ) keyText(im *image) string {
	if len(d.key) == 1 {
		return im.values[d.key[0]].shown
	}
	var parts []string
	for _, i := range d.key {
		parts = append(parts, im.values[i].shown)
	}
	if len(d.key) == 0 {
		for _, v := range im.values {
			parts = append(parts, v.shown)
		}
	}
	return "(" + cut(strings.Join(parts, ", ")) + ")"
}

func cut(text string) string {
	if len(text) <= maxRowText {
		return text
	}
	end := maxRowText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// legible writes combining characters as numbers: é and é look alike, and only
// one of them is a single character.
func legible(a, b string) (string, string) {
	combining := func(r rune) bool { return unicode.Is(unicode.M, r) }
	if !strings.ContainsFunc(a+b, combining) {
		return a, b
	}
	return strings.Trim(strconv.QuoteToASCII(a), `"`), strings.Trim(strconv.QuoteToASCII(b), `"`)
}
