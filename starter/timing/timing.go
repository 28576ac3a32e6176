// Package timing is when a scheduled migration starts, as people write it:
// again and again by a cron expression, or once at a time.
//
// It promises that what it lets through means the same to Temporal as to
// whoever wrote it, and that every mistake is answered with the part that is
// wrong and what may stand there. It starts nothing, and leaves it to Temporal
// to tell which times come next.
package timing

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones are known also where the machine has none
)

// Timing is when something starts: either Cron or At is set.
type Timing struct {
	Cron     string     `json:"cron,omitempty"`
	At       *time.Time `json:"at,omitempty"`
	Timezone string     `json:"timezone"` // an IANA name
}

// Read makes a timing of a cron expression or a time, one of which is empty,
// in a zone. Without a zone it is UTC. A time has to be after now.
func Read(cron, at, zone string, now time.Time) (Timing, error) {
	location, err := readZone(zone)
	if err != nil {
		return Timing{}, err
	}
	timing := Timing{Timezone: location.String()}
	switch {
	case cron == "" && at == "":
		return timing, fmt.Errorf(`when? --cron "0 2 * * *" starts it again and again, --at "%s" once`, example(now, location))
	case cron != "" && at != "":
		return timing, fmt.Errorf("--cron and --at exclude each other: make two schedules")
	case cron != "":
		timing.Cron, err = readCron(cron, now.In(location))
	default:
		var t time.Time
		t, err = readAt(at, location, now)
		timing.At = &t
	}
	return timing, err
}

// readZone finds a zone. "Local" would be another one for each machine.
func readZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	location, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("--timezone %q is not a zone: it is a name like Europe/Berlin, America/New_York or UTC", name)
	}
	return location, nil
}

// example is two o'clock of the coming night.
func example(now time.Time, location *time.Location) string {
	y, m, d := now.In(location).Date()
	return time.Date(y, m, d+1, 2, 0, 0, 0, location).Format(minutes)
}
