package live

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"godwit/internal/task"
	"godwit/starter/view"
)

// Where the lines stand, from top to bottom.
const (
	titlePlace = iota
	overallPlace
	stripPlace
	troublePlace
	shardPlace = 100
)

// fixedLines is how many lines are there besides the shards, about.
const fixedLines = 8

// Bars shows a migration as bars that move: one for the whole, one for every
// shard at work, and lines for phases and troubles.
type Bars struct {
	progress *mpb.Progress
	style    view.Style
	height   int
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

// NewBars makes a screen of bars on a terminal of so many lines.
func NewBars(terminal io.Writer, style view.Style, height int) *Bars {
	return &Bars{
		progress: mpb.New(mpb.WithOutput(terminal), mpb.WithRefreshRate(200*time.Millisecond), mpb.WithAutoRefresh()),
		style:    style,
		height:   height,
		lines:    map[int]*line{},
	}
}

// Show draws how a migration stands.
func (b *Bars) Show(st task.Status, now time.Time) error {
	style := b.style
	style.Now = now.In(style.Now.Location())
	wanted := map[int]content{
		titlePlace:   fixed(view.Title(st, style)),
		overallPlace: func(width int) string { return view.Overall(st, min(40, max(10, width-70))) },
		stripPlace:   fixed(view.Strip(st, style)),
	}
	for i, trouble := range view.Troubles(st, style) {
		wanted[troublePlace+i] = fixed(trouble)
	}
	b.shards(view.Telling(st.Running), wanted)
	return b.draw(wanted)
}

// shards adds the shards at work, as many as there is room for.
func (b *Bars) shards(running []task.Heartbeat, wanted map[int]content) {
	room := max(1, b.height-fixedLines)
	width := 0
	for _, beat := range running {
		width = max(width, text.StringWidth(view.Work(beat)))
	}
	for i, beat := range running {
		if i == room {
			wanted[shardPlace+i] = fixed(fmt.Sprintf("  and %d more", len(running)-room))
			return
		}
		wanted[shardPlace+i] = fixed(view.Shard(beat, width))
	}
}

func fixed(text string) content { return func(int) string { return text } }

// draw changes the screen to what is wanted: lines are added, changed, dropped.
func (b *Bars) draw(wanted map[int]content) error {
	for place, l := range b.lines {
		if wanted[place] == nil {
			l.bar.Abort(true)
			delete(b.lines, place)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(wanted)) {
		text := wanted[place]
		if l := b.lines[place]; l != nil {
			l.text.Store(&text)
			continue
		}
		l := &line{}
		l.text.Store(&text)
		var err error
		if l.bar, err = b.progress.Add(1, mpb.BarFillerFunc(b.filler(l)), mpb.BarPriority(place)); err != nil {
			return err
		}
		b.lines[place] = l
	}
	return nil
}

// filler writes a line, cut to the terminal: a wrapped line could not be
// drawn over.
func (b *Bars) filler(l *line) func(io.Writer, decor.Statistics) error {
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
func (b *Bars) Note(note string) {
	// Only a screen that is closed takes no more notes, and then nobody looks.
	_, _ = b.progress.Write([]byte(note + "\n"))
}

// Close clears the bars.
func (b *Bars) Close() {
	for _, l := range b.lines {
		l.bar.Abort(true)
	}
	b.progress.Wait()
}
