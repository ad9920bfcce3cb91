package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
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

func TestJoinLinesDropsDuplicates(t *testing.T) {
	t.Parallel()
	if got := joinLines("failed to connect:\n\t::1: refused\n\t::1: refused\n\t127.0.0.1: refused"); got !=
		"failed to connect: ::1: refused; 127.0.0.1: refused" {
		t.Errorf("%q", got)
	}
}
