package codec

import "bytes"

const (
	errZeroDate    = problem("PostgreSQL has no zero date")
	errPartialDate = problem("PostgreSQL has no date whose month or day is zero")
	errYearZero    = problem("PostgreSQL has no year 0")
	errNoSuchDay   = problem("the calendar has no such day")
	errNotADate    = problem("it is not a date as the server should write it")
	errNotATime    = problem("it is not a time of day")
)

const (
	dateLength     = len("2006-01-02")
	dateTimeLength = len("2006-01-02 15:04:05")
)

// appendDate copies a date that exists.
func appendDate(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) != dateLength {
		return dst, errNotADate
	}
	if why := checkDate(raw); why != "" {
		return dst, why
	}
	return append(dst, raw...), nil
}

// appendTimestamp copies a date and time that exist.
func appendTimestamp(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) < dateTimeLength {
		return dst, errNotADate
	}
	if why := checkDate(raw); why != "" {
		return dst, why
	}
	return append(dst, raw...), nil
}

// appendTimestampUTC copies a point in time, which the source's session gives
// in UTC.
func appendTimestampUTC(dst, raw []byte, _ int) ([]byte, error) {
	dst, err := appendTimestamp(dst, raw, 0)
	if err != nil {
		return dst, err
	}
	return append(dst, "+00"...), nil
}

// checkDate says why the date that raw begins with does not exist, "" when it
// does.
func checkDate(raw []byte) problem {
	year := 100*pair(raw[0:]) + pair(raw[2:])
	month, day := pair(raw[5:]), pair(raw[8:])
	if month-1 < 12 && day-1 < 28 && year-1 < 9999 {
		return ""
	}
	switch {
	case raw[4] != '-' || raw[7] != '-' || year > 9999 || month > 99 || day > 99:
		return errNotADate
	case year == 0 && month == 0 && day == 0:
		return errZeroDate
	case month == 0 || day == 0:
		return errPartialDate
	case year == 0:
		return errYearZero
	case month > 12 || day > daysIn(month, year):
		return errNoSuchDay
	}
	return ""
}

// pair reads two digits; what is no digit makes it big.
func pair(raw []byte) uint { return uint(raw[0]-'0')*10 + uint(raw[1]-'0') }

func daysIn(month, year uint) uint {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// canonTimestamp drops the trailing zeros of the fraction, which MySQL writes
// and PostgreSQL does not.
func canonTimestamp(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) > dateTimeLength && raw[dateTimeLength] == '.' {
		raw = trimFraction(raw)
	}
	return append(dst, raw...), nil
}

// canonTime is canonTimestamp for [-]hh:mm:ss[.fraction], and drops the sign
// of zero.
func canonTime(dst, raw []byte, _ int) ([]byte, error) {
	if bytes.IndexByte(raw, '.') >= 0 {
		raw = trimFraction(raw)
	}
	if string(raw) == "-00:00:00" {
		raw = raw[1:]
	}
	return append(dst, raw...), nil
}

func trimFraction(raw []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimRight(raw, "0"), []byte("."))
}

// appendTimeOfDay copies a TIME that is a time of day: MySQL's goes from
// -838:59:59 to 838:59:59.
func appendTimeOfDay(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) < len("15:04:05") || raw[2] != ':' || pair(raw) > 23 {
		return dst, errNotATime
	}
	return append(dst, raw...), nil
}
