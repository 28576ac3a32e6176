package codec

import (
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// New chooses the codecs that carry the rows of src into dst, which MapTable
// made or which exists already. flavor is the source's (engine.Identity).
// Columns belong together by name; where no name is exactly the same, a name
// that differs in case alone is, when there is only one. Whatever is not
// certain is refused, all of it in one error of class config.
func New(src, dst *engine.Table, flavor string) (*Row, error) {
	if err := checkFlavor(src, flavor); err != nil {
		return nil, err
	}
	row := &Row{Source: src.Name, Target: dst.Name, Columns: make([]Column, 0, len(src.Columns))}
	var problems []string
	taken := make(map[string]bool, len(dst.Columns))
	for i := range src.Columns {
		from := &src.Columns[i]
		to, err := counterpart(from, src, dst)
		if err == nil {
			taken[to.Name] = true
			err = row.add(from, to)
		}
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	for i := range dst.Columns {
		if to := &dst.Columns[i]; !taken[to.Name] && !fillsItself(to) {
			problems = append(problems, fmt.Sprintf("%s.%s is NOT NULL without a default and has no column of that name in %s: give it a default, or drop it", dst.Name, to.Name, src.Name))
		}
	}
	if len(problems) > 0 {
		return nil, fault.About(src.Name.String(), task.Config, "%s", strings.Join(problems, "; "))
	}
	return row, row.Bind()
}

func checkFlavor(src *engine.Table, flavor string) error {
	switch flavor {
	case "mysql", "mariadb":
		return nil
	}
	return fault.About(src.Name.String(), task.Config, "this version cannot copy from %s yet: the source is mysql or mariadb", flavor)
}

// counterpart finds the target's column for a source column.
func counterpart(from *engine.Column, src, dst *engine.Table) (*engine.Column, error) {
	if to := dst.Column(from.Name); to != nil {
		return to, nil
	}
	var found *engine.Column
	for i := range dst.Columns {
		to := &dst.Columns[i]
		if !strings.EqualFold(to.Name, from.Name) || src.Column(to.Name) != nil {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s.%s could be %s or %s of %s: rename one of them", src.Name, from.Name, found.Name, to.Name, dst.Name)
		}
		found = to
	}
	if found == nil {
		return nil, fmt.Errorf("%s.%s (%s) has no column of that name in %s: add it there", src.Name, from.Name, from.Type.Full, dst.Name)
	}
	return found, nil
}

// fillsItself reports whether a column may be left out of an insert.
func fillsItself(c *engine.Column) bool {
	return c.Nullable || c.Default != nil || c.Identity || c.Generated != ""
}

func (r *Row) add(from, to *engine.Column) error {
	name, size, why := choose(&from.Type, &to.Type)
	switch {
	case why != "":
	case to.Generated != "":
		why = "the target's column is generated, which cannot be written: make it a plain one"
	case from.Nullable && !to.Nullable:
		why = "the source's column may be NULL, the target's may not: drop NOT NULL there, or set it on the source"
	default:
		r.Columns = append(r.Columns, Column{
			Source: from.Name, Target: to.Name,
			SourceExpr: mysqlExpr(from), TargetExpr: postgresExpr(to),
			Codec: name, Size: size,
		})
		return nil
	}
	return fmt.Errorf("%s.%s (%s) cannot be copied into %s.%s (%s): %s",
		r.Source, from.Name, from.Type.Full, r.Target, to.Name, to.Type.Full, why)
}

// mysqlExpr selects a value so that its text is exact. A FLOAT's own text has
// six digits only; times one it is a double, whose text is exact (adding zero
// instead would lose the sign of -0).
func mysqlExpr(c *engine.Column) string {
	name := "`" + strings.ReplaceAll(c.Name, "`", "``") + "`"
	switch c.Type.Base {
	case "float", "double":
		return name + "*1e0"
	}
	return name
}

// postgresExpr selects a value so that its text does not depend on the
// session's time zone.
func postgresExpr(c *engine.Column) string {
	if c.Type.Base == "timestamptz" {
		return quoteName(c.Name) + " AT TIME ZONE 'UTC'"
	}
	return quoteName(c.Name)
}

func quoteName(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
