package loci

import "time"

// A Time is an instant in microseconds since 1970 UTC. On the wire it is
// RFC 3339 in UTC with milliseconds; inside, the microseconds stay, so that
// they can order a list. The zero Time is no time and is left out.
type Time int64

const wireTime = "2006-01-02T15:04:05.000Z"

// At returns t as a Time.
func At(t time.Time) Time { return Time(t.UnixMicro()) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMicro(int64(t)).UTC() }

func (t Time) String() string { return t.Std().Format(wireTime) }

// MarshalJSON writes t as on the wire.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(wireTime)+2)
	b = t.Std().AppendFormat(append(b, '"'), wireTime)
	return append(b, '"'), nil
}

// UnmarshalJSON reads an RFC 3339 time with an offset.
func (t *Time) UnmarshalJSON(b []byte) error {
	at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
	if err != nil {
		return err
	}
	*t = At(at)
	return nil
}

// A Clock tells the time. It is a foreign system: the machine's, or a test's.
type Clock func() time.Time
