package live

import (
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// canvas is the part of a terminal whose lines are drawn over.
type canvas struct {
	progress *mpb.Progress
	lines    map[int]*line
}

// line is a line of the screen. mpb draws it again and again, from a goroutine
// of its own, until it is dropped.
type line struct {
	bar  *mpb.Bar
	text atomic.Pointer[content]
}

// content is what a line says on a terminal of a width.
type content func(width int) string

func newCanvas(terminal io.Writer) canvas {
	return canvas{
		progress: mpb.New(mpb.WithOutput(terminal), mpb.WithRefreshRate(200*time.Millisecond), mpb.WithAutoRefresh()),
		lines:    map[int]*line{},
	}
}

func fixed(text string) content { return func(int) string { return text } }

// draw changes the canvas to what is wanted: lines are added, changed, dropped.
func (c *canvas) draw(wanted map[int]content) error {
	for place, l := range c.lines {
		if wanted[place] == nil {
			l.bar.Abort(true)
			delete(c.lines, place)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(wanted)) {
		text := wanted[place]
		if l := c.lines[place]; l != nil {
			l.text.Store(&text)
			continue
		}
		l := &line{}
		l.text.Store(&text)
		var err error
		if l.bar, err = c.progress.Add(1, mpb.BarFillerFunc(c.filler(l)), mpb.BarPriority(place), mpb.BarFillerTrim()); err != nil {
			return err
		}
		c.lines[place] = l
	}
	return nil
}

// filler writes a line, cut to the terminal: a wrapped line could not be
// drawn over.
func (c *canvas) filler(l *line) func(io.Writer, decor.Statistics) error {
	return func(w io.Writer, statistics decor.Statistics) error {
		said := strings.ReplaceAll((*l.text.Load())(statistics.AvailableWidth), "\n", " ")
		if text.StringWidthWithoutEscSequences(said) > statistics.AvailableWidth {
			said = text.Snip(said, statistics.AvailableWidth, "…")
		}
		_, err := io.WriteString(w, said)
		return err
	}
}

// Note writes a line above the bars, where it stays.
func (c *canvas) Note(note string) {
	// Only a canvas that is closed takes no more notes, and then nobody looks.
	_, _ = c.progress.Write([]byte(note + "\n"))
}

// Close clears the bars.
func (c *canvas) Close() {
	for _, l := range c.lines {
		l.bar.Abort(true)
	}
	c.progress.Wait()
}
