package view

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// margin is what the parts below a title are moved right by.
const margin = "  "

// grid is columns without lines around them.
type grid struct{ writer table.Writer }

func newGrid(titles ...string) *grid {
	w := table.NewWriter()
	w.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: "  "},
		Format:  table.FormatOptions{Header: text.FormatDefault},
		Options: table.OptionsNoBordersAndSeparators,
	})
	w.SuppressTrailingSpaces()
	if len(titles) > 0 {
		w.AppendHeader(cells(titles))
	}
	return &grid{writer: w}
}

// right aligns columns, counted from 1, at their right edge.
func (g *grid) right(columns ...int) *grid {
	var configs []table.ColumnConfig
	for _, column := range columns {
		configs = append(configs, table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	g.writer.SetColumnConfigs(configs)
	return g
}

func (g *grid) row(values ...string) { g.writer.AppendRow(cells(values)) }

// String is the grid with every line moved right by a prefix.
func (g *grid) String(prefix string) string {
	if g.writer.Length() == 0 {
		return ""
	}
	return indented(g.writer.Render(), prefix) + "\n"
}

func cells(values []string) table.Row {
	row := make(table.Row, len(values))
	for i, value := range values {
		row[i] = value
	}
	return row
}

// indented is a text with every line moved right by a prefix.
func indented(lines, prefix string) string {
	return prefix + strings.ReplaceAll(strings.TrimRight(lines, "\n"), "\n", "\n"+prefix)
}
