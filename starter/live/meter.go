package live

import (
	"io"
	"sync/atomic"
	"time"

	"godwit/starter/view"
)

// Meter shows one thing that is counted, as a bar on a terminal.
type Meter struct {
	canvas
	done, total atomic.Int64
}

// NewMeter makes a bar that says what is counted. The time runs from now on.
func NewMeter(terminal io.Writer, what string) (*Meter, error) {
	m := &Meter{canvas: newCanvas(terminal)}
	began := time.Now()
	return m, m.draw(map[int]content{titlePlace: func(width int) string {
		return view.Meter(what, m.done.Load(), m.total.Load(), time.Since(began), barWidth(width))
	}})
}

// Show tells how much is done. It may be called from any goroutine, and as
// often as anybody likes.
func (m *Meter) Show(done, total int64) {
	m.total.Store(total)
	m.done.Store(max(done, m.done.Load()))
}

// barWidth is that of a bar with its numbers beside it.
func barWidth(width int) int { return min(40, max(10, width-70)) }
