package console

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
)

// WaitingCandidates returns a line with the number of candidates that wait for a review, and with the command for
// it on a target.
func WaitingCandidates(n int64, flags []string) string {
	count := format.Plural(n, "candidate waits", "candidates wait")
	if n >= loci.MaxWaiting { // as far as it is counted
		count = fmt.Sprintf("%d or more candidates wait", n)
	}
	return count + " for your review: " +
		strings.Join(append([]string{"loci review"}, flags...), " ")
}
