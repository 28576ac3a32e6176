package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"godwit/starter/control"
)

// Schedules writes schedules as a table, and below it why some are paused.
func Schedules(w io.Writer, schedules []control.Schedule, style Style) error {
	if len(schedules) == 0 {
		_, err := io.WriteString(w, "no schedules; `godwit schedule FILE --cron …` makes one\n")
		return err
	}
	g := newGrid("NAME", "WHEN", "NEXT", "LAST RUN", "RUNS", "SKIPPED", "MISSED", "STARTS").right(5, 6, 7)
	paused := ""
	for _, s := range schedules {
		g.row(s.ID, style.when(s), style.next(s), style.lastRun(s.Last), rows(int64(s.Runs)), rows(int64(s.Skipped)), rows(int64(s.Missed)), s.Name)
		if s.Paused {
			paused += fmt.Sprintf("%s is paused: %s; go on: godwit schedule resume %s\n", s.ID, s.Note, s.ID)
		}
	}
	if paused != "" {
		paused = "\n" + paused
	}
	_, err := io.WriteString(w, g.String("")+paused)
	return err
}

func (s Style) when(schedule control.Schedule) string {
	if schedule.At != nil {
		return "once"
	}
	if schedule.Timezone == "UTC" || strings.HasPrefix(schedule.Cron, "@every") {
		return schedule.Cron
	}
	return schedule.Cron + " " + schedule.Timezone
}

func (s Style) next(schedule control.Schedule) string {
	switch {
	case schedule.Paused:
		return s.paint(yellow, "paused")
	case schedule.Over():
		return s.paint(faint, "over")
	}
	return s.moment(schedule.Next[0])
}

func (s Style) lastRun(last *control.LastRun) string {
	if last == nil {
		return ""
	}
	text := last.ID
	if last.State != "" {
		text += " " + s.State(last.State)
	}
	if last.Attention {
		text += s.paint(red, " !")
	}
	return text
}

// Times are times in a zone, one below the other.
func Times(times []time.Time, zone string) string {
	location, err := time.LoadLocation(zone)
	if err != nil {
		location = time.UTC
	}
	var lines []string
	for _, t := range times {
		lines = append(lines, margin+t.In(location).Format("Mon 2006-01-02 15:04:05 MST"))
	}
	return strings.Join(lines, "\n")
}
