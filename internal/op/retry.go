package op

import (
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// RetryMessage returns the message of a limit or of a busy server with the time to wait. Other messages stay.
func RetryMessage(e *loci.Error) string {
	if e.RetryAfter <= 0 || e.Code != loci.CodeRateLimited && e.Code != loci.CodeUnavailable {
		return e.Message
	}
	wait := WaitText(e.RetryAfter)
	switch message := strings.Replace(e.Message, "Retry-After seconds", wait, 1); {
	case strings.Contains(message, wait):
		return message
	default:
		return strings.TrimSuffix(message, ".") + ". Try again in " + wait + "."
	}
}

// WaitText returns a time in words, in its largest unit of which it has two or more, rounded up.
func WaitText(d time.Duration) string {
	unit, name := time.Second, "second"
	for _, u := range []struct {
		d    time.Duration
		name string
	}{{time.Minute, "minute"}, {time.Hour, "hour"}, {24 * time.Hour, "day"}} {
		if d >= 2*u.d {
			unit, name = u.d, u.name
		}
	}
	return plural(int((d+unit-1)/unit), name)
}
