package control

import (
	"math"
	"time"

	"godwit/internal/task"
)

const (
	// longestCarry is how far an estimate is carried forward. Heartbeats come each
	// second, later where the server is busy; it also bounds what a clock that is
	// wrong can do.
	longestCarry = 10 * time.Second
	// furthest is how far, in percent: that it is done, the work itself says.
	furthest = 99.0
)

// carryForward makes of an estimate of a while ago one of now.
func carryForward(beat *task.Heartbeat, age time.Duration) {
	if age <= 0 || beat.Carry == nil {
		return
	}
	now := min(furthest, beat.Carry.UntilPercent, beat.Percent+beat.Carry.PercentPerSecond*min(longestCarry, age).Seconds())
	if now <= beat.Percent {
		return
	}
	beat.Percent = now
	if beat.RowsTotal > 0 {
		beat.Rows = int64(now / 100 * float64(beat.RowsTotal))
	}
}

// addProgress counts the rows of the shards at work, which the workflow does
// not know of before they are done.
func addProgress(st *task.Status) {
	var rows, bytes int64
	var speed float64
	for _, beat := range st.Running {
		if beat.Shard == 0 || beat.Phase != st.Phase {
			continue
		}
		rows += beat.Rows
		bytes += beat.Bytes
		speed += beat.RowsPerSecond
	}
	p, weights := &st.Progress, task.WeightsOf(st.Kind)
	p.RowsDone += rows
	p.BytesDone += bytes
	if p.RowsTotal == 0 && st.Source == "temporal" {
		// Only the workflow knows what the rest is, and it could not be asked.
		p.RowsPerSecond = math.Round(speed)
		return
	}
	p.RowsTotal = max(p.RowsTotal, p.RowsDone)
	if p.RowsTotal > 0 {
		more := weights[st.Phase] * float64(rows) / float64(p.RowsTotal)
		p.Percent = min(100, math.Round(10*(p.Percent+more))/10)
	}
	if speed > 0 {
		p.RowsPerSecond = math.Round(speed)
		left := float64(p.RowsTotal - p.RowsDone)
		if st.Phase == task.Transform {
			left += float64(p.RowsTotal) * weights[task.Verify] / weights[task.Transform]
		}
		p.ETASeconds = math.Round(left / speed)
	}
}
