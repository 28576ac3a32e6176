package timing

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"godwit/internal/document"
)

// field is one of the five parts of an expression.
type field struct {
	name, shape string
	names       []string // that may stand for numbers
}

var fields = [...]field{
	{name: "minute", shape: "0-59"},
	{name: "hour", shape: "0-23"},
	{name: "day of the month", shape: "1-31"},
	{name: "month", shape: "1-12 or JAN-DEC", names: strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")},
	{name: "day of the week", shape: "0-6 or SUN-SAT, 0 is Sunday", names: strings.Fields("SUN MON TUE WED THU FRI SAT")},
}

// The places of the fields that name a day.
const (
	dayOfMonth = 2
	dayOfWeek  = 4
)

// every is the beginning of an interval.
const every = "@every "

// shorthands stand for whole expressions.
var shorthands = []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}

// readCron checks an expression, and that it comes about at all after now.
func readCron(text string, now time.Time) (string, error) {
	text = strings.TrimSpace(text)
	var err error
	switch {
	case strings.HasPrefix(text, every):
		err = checkEvery(text)
	case strings.HasPrefix(text, "@"):
		err = checkShorthand(text)
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		err = errors.New("name the zone with --timezone instead of TZ=")
	default:
		err = checkFields(text)
	}
	if err == nil {
		err = checkComes(text, now)
	}
	if err != nil {
		return "", fmt.Errorf("--cron %q: %w", text, err)
	}
	return text, nil
}

func checkEvery(text string) error {
	interval, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(text, every)))
	if err != nil || interval < time.Second || interval%time.Second != 0 {
		return errors.New("after @every stands a time in whole seconds like 90s, 30m or 12h")
	}
	return nil
}

func checkShorthand(text string) error {
	for _, known := range shorthands {
		if text == known {
			return nil
		}
	}
	return errors.New("there is no such shorthand; " + document.Suggest(text, append([]string{"@every 12h"}, shorthands...)))
}

// checkFields looks at each field on its own, so that the mistake is named
// with its field.
func checkFields(text string) error {
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return fmt.Errorf(`it has %d fields instead of 5: minute, hour, day of the month, month, day of the week, like "30 2 * * MON-FRI"`, len(parts))
	}
	for i, part := range parts {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = part
		if _, err := cron.ParseStandard(strings.Join(alone, " ")); err != nil || strings.Contains(part, "?") {
			return fields[i].mistake(part)
		}
	}
	// To cron this is a day that is one or the other, to Temporal one that is both.
	if parts[dayOfMonth] != "*" && parts[dayOfWeek] != "*" {
		return fmt.Errorf("it names days of the month (%s) and of the week (%s), which some understand as either and others as both; name one of them, and make a second schedule for the other",
			parts[dayOfMonth], parts[dayOfWeek])
	}
	return nil
}

func (f field) mistake(part string) error {
	hint := ""
	for _, word := range strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(",-/*", r) }) {
		if near := document.Nearest(word, f.names); near != "" && near != strings.ToUpper(word) {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
	}
	return fmt.Errorf("%q cannot be the %s: it is %s, also as 1-5, 1,3 or */2, or * for each%s", part, f.name, f.shape, hint)
}

// checkComes refuses a day that no calendar has, like the 30th of February.
func checkComes(text string, now time.Time) error {
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return err
	}
	if schedule.Next(now).IsZero() {
		return errors.New("no calendar has such a day")
	}
	return nil
}
