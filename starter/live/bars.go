package live

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

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
	canvas
	style  view.Style
	height int
}

// NewBars makes a screen of bars on a terminal of so many lines.
func NewBars(terminal io.Writer, style view.Style, height int) *Bars {
	return &Bars{canvas: newCanvas(terminal), style: style, height: height}
}

// Show draws how a migration stands.
func (b *Bars) Show(st task.Status, now time.Time) error {
	style := b.style
	style.Now = now.In(style.Now.Location())
	wanted := map[int]content{
		titlePlace:   fixed(view.Title(st, style)),
		overallPlace: func(width int) string { return view.Overall(st, barWidth(width)) },
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
