package loci

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// A Time is an instant in microseconds since 1970 UTC. On the wire it is RFC 3339 in UTC with milliseconds; internally
// it keeps microseconds, which order lists. The zero Time means none and is left out.
type Time int64

// TimeOf returns t as a Time.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMicro(int64(t)).UTC() }

func (t Time) String() string { b, _ := t.MarshalText(); return string(b) }

// MarshalText returns t as on the wire.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// The years that RFC 3339 can represent.
var (
	firstTime = TimeOf(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))
	lastTime  = TimeOf(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC))
)

// AppendText appends the text of MarshalText, and never returns an error. A time outside of RFC 3339 becomes the
// nearest inside.
func (t Time) AppendText(b []byte) ([]byte, error) {
	return max(firstTime, min(lastTime, t)).Std().AppendFormat(b, "2006-01-02T15:04:05.000Z"), nil
}

// UnmarshalText parses an RFC 3339 time with an offset, within the years 0 to 9999 in UTC too. The first instant of
// 1970 becomes the next one, because the zero Time means none.
func (t *Time) UnmarshalText(b []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return err
	}
	// The standard library accepts an hour of one digit and a comma too (golang.org/issue/54580).
	if len(b) < len("2006-01-02T15:04:05Z") || b[13] != ':' || bytes.IndexByte(b, ',') >= 0 {
		return fmt.Errorf("loci: %q is not of RFC 3339", b)
	}
	x := TimeOf(at)
	if x < firstTime || x > lastTime {
		return fmt.Errorf("loci: the year %d does not fit RFC 3339", at.UTC().Year())
	}
	if x == 0 {
		x = 1
	}
	*t = x
	return nil
}

// A Moment is an instant in a filter: a time with an offset, a date, which means its midnight in UTC, or an age such as
// 36h, 7d or 4w.
type Moment string

// Rule bounds the length of a Moment.
func (Moment) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 40, Description: "Created: date, time, 7d"}
}

// ages are the units of an age.
var ages = map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// maxAge is the highest age of a Moment: 100 years.
const maxAge = 100 * 366 * 24 * time.Hour

// At returns the instant that a Moment means now. An empty one is the zero Time. An error names the field.
func (m Moment) At(now Time, field string) (at Time, err error) {
	if m == "" {
		return 0, nil
	}
	text := string(m)
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return cmp.Or(TimeOf(day), 1), nil
	}
	last := len(text) - 1
	if n, err := strconv.ParseUint(text[:last], 10, 32); err == nil && ages[text[last]] != 0 {
		if age := ages[text[last]]; n <= uint64(maxAge/age) {
			return now - Time(n)*Time(age.Microseconds()), nil
		}
		return 0, Errorf(CodeInvalidQuery, "%s must be at most 100 years ago", field)
	}
	if at.UnmarshalText([]byte(text)) != nil {
		return 0, Errorf(CodeInvalidQuery, "%s must be a time with an offset, such as 2026-01-02T15:04:05Z, a date, "+
			"such as 2026-01-02, or an age: 36h, 7d or 4w", field)
	}
	return at, nil
}

// A Clock returns the time. It is the machine's clock, or a test's.
type Clock func() time.Time
