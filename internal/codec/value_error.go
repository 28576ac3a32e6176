package codec

import (
	"fmt"
	"strconv"
)

// ValueError is a value that cannot be carried to the target. Whoever knows
// the row adds its table and key.
type ValueError struct {
	Column string // name on the source
	Value  string // as ShowSource shows it
	Reason string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("column %s: the value %s cannot be copied: %s", e.Column, e.Value, e.Reason)
}

// problem is why a value cannot be carried. It is a constant, so that the path
// of the rows allocates nothing.
type problem string

func (p problem) Error() string { return string(p) }

func (r *Row) refuse(i int, value []byte, why error) *ValueError {
	return &ValueError{Column: r.Columns[i].Source, Value: r.ShowSource(i, value), Reason: why.Error()}
}

// refuseLine names the longest value of a row that is too long as a whole.
func (r *Row) refuseLine(raw [][]byte) *ValueError {
	longest := 0
	for i := range raw {
		if len(raw[i]) > len(raw[longest]) {
			longest = i
		}
	}
	return r.refuse(longest, raw[longest], problem("with it the row is over "+strconv.Itoa(r.maxLine)+
		" bytes as a line of COPY data, more than PostgreSQL takes"))
}
