package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

func TestFailuresTellTheirCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("unable to open\n\tdatabase file")
	for _, c := range []struct {
		err  error
		code loci.Code
		says string
	}{
		{cause, loci.InternalError, "unable to open; database file"},
		{fmt.Errorf("open: %w", &loci.Error{Code: loci.Unavailable, Message: loci.Unavailable.Hint(), Err: cause}),
			loci.Unavailable, "unable to open; database file"},
		{&loci.Error{Code: loci.StorageFull, Message: loci.StorageFull.Hint(), Err: cause}, loci.StorageFull,
			"is full: tell its operator: unable to open"},
		{&loci.Error{Code: loci.Conflict, Message: "There is one already.", Err: cause}, loci.Conflict,
			"There is one already."},
		{loci.Fail(loci.NotFound), loci.NotFound, loci.NotFound.Hint()},
	} {
		if e := explain(c.err); e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%v: %s %q, want %s %q", c.err, e.Code, e.Message, c.code, c.says)
		}
	}
}
