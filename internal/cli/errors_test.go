package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestErrorsIncludeCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("unable to open\n\tdatabase file")
	for _, c := range []struct {
		err  error
		code loci.Code
		says string
	}{
		{cause, loci.CodeInternalError, "unable to open; database file"},
		{fmt.Errorf("open: %w", &loci.Error{Code: loci.CodeUnavailable, Message: loci.CodeUnavailable.Hint(),
			Err: cause}),
			loci.CodeUnavailable, "unable to open; database file"},
		{&loci.Error{Code: loci.CodeStorageFull, Message: loci.CodeStorageFull.Hint(), Err: cause},
			loci.CodeStorageFull,
			"is full: tell its operator: unable to open"},
		{&loci.Error{Code: loci.CodeConflict, Message: "There is one already.", Err: cause}, loci.CodeConflict,
			"There is one already."},
		{loci.NewError(loci.CodeNotFound), loci.CodeNotFound, loci.CodeNotFound.Hint()},
	} {
		if e := oneLineError(c.err); e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%v: %s %q, want %s %q", c.err, e.Code, e.Message, c.code, c.says)
		}
	}
}

// The message about a quota has the time itself, if waiting helps.
func TestErrorNamesDelayUnlessQuotaIsExceeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    loci.Code
		message string
		wait    time.Duration
		want    string
	}{
		{loci.CodeRateLimited, "Full.", 3 * time.Second, "loci: Full (rate_limited)\nTry again in 3 seconds.\n"},
		{loci.CodeRateLimited, "Full.", 31 * 24 * time.Hour, "loci: Full (rate_limited)\nTry again in 31 days.\n"},
		{loci.CodeUnavailable, "Full. Try again in 3 seconds.", 3 * time.Second,
			"loci: Full. Try again in 3 seconds (unavailable)\n"},
		{loci.CodeStorageFull, "Full.", time.Minute, "loci: Full (storage_full)\nTry again in 60 seconds.\n"},
		{loci.CodeQuotaExceeded, "Full.", 3 * time.Second, "loci: Full (quota_exceeded)\n"},
	} {
		d := newTestTerminal(t)
		op.Add(d.table, "atlas.get", "GET /v1/atlases/{atlasId}", "Read.", op.Account, op.NoTool,
			func(*fakeService, context.Context, *identity.Actor, loci.GetAtlas) (out loci.OneAtlas, err error) {
				return out, &loci.Error{Code: c.code, Message: c.message, RetryAfter: c.wait}
			})
		if d.run("atlas", "get", fakeID); d.err.String() != c.want {
			t.Errorf("%q, want %q", d.err.String(), c.want)
		}
	}
}

func TestJoinLinesDropsDuplicates(t *testing.T) {
	t.Parallel()
	testenv.Equal(t, joinLines("failed to connect:\n\t::1: refused\n\t::1: refused\n\t127.0.0.1: refused"),
		"failed to connect: ::1: refused; 127.0.0.1: refused")
}
