package op_test

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestRetryMessageHasTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    loci.Code
		message string
		wait    time.Duration
		want    string
	}{
		{loci.CodeRateLimited, loci.CodeRateLimited.Hint(), 1200 * time.Millisecond,
			"Too many requests: wait for 2 seconds."},
		{loci.CodeUnavailable, loci.CodeUnavailable.Hint(), time.Second,
			"The service is busy: try again after 1 second."},
		{loci.CodeUnavailable, "It is full.", 2 * time.Minute, "It is full. Try again in 2 minutes."},
		{loci.CodeRateLimited, "Close one, and try again", 119 * time.Second,
			"Close one, and try again. Try again in 119 seconds."},
		{loci.CodeRateLimited, "Try again in 25 hours.", 25 * time.Hour, "Try again in 25 hours."},
		{loci.CodeRateLimited, "Full.", 31 * 24 * time.Hour, "Full. Try again in 31 days."},
		{loci.CodeRateLimited, "Full.", 0, "Full."},
		{loci.CodeQuotaExceeded, "It ends on Monday.", time.Hour, "It ends on Monday."},
		{loci.CodeStateConflict, "Another upload runs.", time.Hour, "Another upload runs."},
	} {
		e := &loci.Error{Code: c.code, Message: c.message, RetryAfter: c.wait}
		testenv.Equal(t, op.RetryMessage(e), c.want)
	}
}

func TestWaitIsInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Millisecond: "1 second", 90 * time.Second: "90 seconds",
		2 * time.Minute: "2 minutes", 150 * time.Second: "3 minutes",
		3 * time.Hour: "3 hours", 47 * time.Hour: "47 hours",
		48 * time.Hour: "2 days", 31 * 24 * time.Hour: "31 days"} {
		testenv.Equal(t, op.WaitText(d), want)
	}
}
