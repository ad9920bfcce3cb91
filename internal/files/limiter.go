package files

import (
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
)

// maxOfAttachment is the most transfers of one attachment at once: its address may be in many hands.
const maxOfAttachment = 8

// busyRetry is the Retry-After of a transfer that is refused.
const busyRetry = 5 * time.Second

// newLimiter bounds the transfers that run at once; 0 is unbounded. Each holds file descriptors beside its connection.
func newLimiter(transfers int) *limit.Semaphore[loci.ID] {
	return limit.NewSemaphore[loci.ID](limit.Bounds{Total: transfers, PerKey: maxOfAttachment, Refusal: limit.Refusal{
		Name: "transfers of files", Code: loci.CodeUnavailable, RetryAfter: busyRetry,
		Message: "Too many files are uploaded or downloaded at once: try again later."}})
}
