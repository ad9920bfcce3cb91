// Package retryafter reads the header Retry-After of a response.
package retryafter

import (
	"strconv"
	"strings"
	"time"
)

// Max is the longest wait that a client believes a server. A monthly quota ends within it.
const Max = 31 * 24 * time.Hour

// Parse returns the wait of a Retry-After header (RFC 9110, section 10.2.3), in seconds or as a date, up to
// Max. It is 0 for an absent or invalid one.
func Parse(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(Max/time.Second))) * time.Second
	}
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} { // section 5.6.7
		if at, err := time.Parse(layout, header); err == nil {
			return min(max(0, at.Sub(now)), Max)
		}
	}
	return 0
}
