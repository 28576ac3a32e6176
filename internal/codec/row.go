package codec

import (
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// maxLine is what PostgreSQL takes for one line of COPY data: its buffers are
// limited to 1 GiB less one byte.
const maxLine = 1<<30 - 2

// Row carries the rows of one table. After Bind it does not change, and many
// goroutines may use it at once.
type Row struct {
	Source  engine.Name `json:"source"`
	Target  engine.Name `json:"target"`
	Columns []Column    `json:"columns"`

	bound   []bound
	maxLine int
}

// Column carries the values of one column.
type Column struct {
	Source string `json:"source"` // name on the source
	Target string `json:"target"` // name on the target
	// SourceExpr is the SELECT list entry that reads the value from the source,
	// TargetExpr the one that reads it back from the target.
	SourceExpr string `json:"source_expr"`
	TargetExpr string `json:"target_expr"`
	// Codec names how the value is written and compared.
	Codec string `json:"codec"`
	// Size is the number of bits of a bit column, 0 otherwise.
	Size int `json:"size,omitempty"`
}

type bound struct {
	*codec
	size int
}

// Bind finds the codecs by their names. A Row that came from JSON needs it
// before anything else.
func (r *Row) Bind() error {
	r.bound = make([]bound, len(r.Columns))
	r.maxLine = maxLine
	for i, column := range r.Columns {
		found, ok := codecs[column.Codec]
		if !ok {
			return fault.About(r.Source.String(), task.Config,
				"%s.%s: the plan uses the codec %q, which this version does not know: continue with the version that made the plan, or a newer one",
				r.Source, column.Source, column.Codec)
		}
		r.bound[i] = bound{found, column.Size}
	}
	return nil
}

// SourceExprs is the SELECT list that reads the rows from the source.
func (r *Row) SourceExprs() []string {
	return r.list(func(c *Column) string { return c.SourceExpr })
}

// TargetColumns are the names of the columns that are written, unquoted.
func (r *Row) TargetColumns() []string {
	return r.list(func(c *Column) string { return c.Target })
}

// TargetExprs is the SELECT list that reads the rows back from the target.
func (r *Row) TargetExprs() []string {
	return r.list(func(c *Column) string { return c.TargetExpr })
}

func (r *Row) list(entry func(*Column) string) []string {
	entries := make([]string, len(r.Columns))
	for i := range r.Columns {
		entries[i] = entry(&r.Columns[i])
	}
	return entries
}

// Len is the number of columns.
func (r *Row) Len() int { return len(r.Columns) }

// Name is the name of column i on the source.
func (r *Row) Name(i int) string { return r.Columns[i].Source }

// Positions finds columns by their names on the source, for a key's columns.
func (r *Row) Positions(names []string) ([]int, error) {
	positions := make([]int, len(names))
	for i, name := range names {
		positions[i] = -1
		for j := range r.Columns {
			if r.Columns[j].Source == name {
				positions[i] = j
			}
		}
		if positions[i] < 0 {
			return nil, fault.About(r.Source.String(), task.Config, "%s has no column %s among those that are copied", r.Source, name)
		}
	}
	return positions, nil
}

// Append appends a row of the source to dst as a line of PostgreSQL's COPY
// text format. raw are the values as the source wrote them, nil for NULL. It
// allocates nothing but dst's growth. When a value cannot be carried, the
// error is a *ValueError and what is returned is dst without the row.
func (r *Row) Append(dst []byte, raw [][]byte) ([]byte, error) {
	if len(raw) != len(r.bound) {
		return dst, fmt.Errorf("a row of %s has %d values where %d are expected", r.Source, len(raw), len(r.bound))
	}
	start := len(dst)
	for i := range r.bound {
		if i > 0 {
			dst = append(dst, '\t')
		}
		b, value := &r.bound[i], raw[i]
		var err error
		switch {
		case value == nil:
			dst = append(dst, '\\', 'N')
		case b.mode == verbatim:
			dst = append(dst, value...)
		case b.mode == text:
			dst, err = appendText(dst, value)
		default:
			dst, err = b.encode(dst, value, b.size)
		}
		if err != nil {
			return dst[:start], r.refuse(i, value, err)
		}
	}
	dst = append(dst, '\n')
	if len(dst)-start > r.maxLine {
		return dst[:start], r.refuseLine(raw)
	}
	return dst, nil
}

// CanonSource appends the canonical bytes of a value of column i that was
// read from the source, which is not NULL.
func (r *Row) CanonSource(i int, dst, raw []byte) ([]byte, error) {
	if canon := r.bound[i].source; canon != nil {
		return canon(dst, raw, r.bound[i].size)
	}
	return append(dst, raw...), nil
}

// CanonTarget appends the canonical bytes of a value of column i that was
// read from the target, which is not NULL.
func (r *Row) CanonTarget(i int, dst, raw []byte) ([]byte, error) {
	if canon := r.bound[i].target; canon != nil {
		return canon(dst, raw, r.bound[i].size)
	}
	return append(dst, raw...), nil
}

// ShowSource shows a value of column i that was read from the source to a
// human: NULL, 42, 'text', 0x00ff, cut short when it is long.
func (r *Row) ShowSource(i int, raw []byte) string {
	if raw == nil {
		return "NULL"
	}
	return r.bound[i].showSource(raw, r.bound[i].size)
}

// ShowTarget shows a value of column i that was read from the target.
func (r *Row) ShowTarget(i int, raw []byte) string {
	if raw == nil {
		return "NULL"
	}
	return r.bound[i].showTarget(raw, r.bound[i].size)
}
