package files

import (
	"math"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
)

// maxOfAttachment is the most transfers of one attachment at once: its address may be in many hands.
const maxOfAttachment = 8

// stallTimeout is how long the client of a download may take no further part. Then it loses its place to another
// transfer that finds none.
const stallTimeout = 10 * time.Second

// busy refuses a transfer that finds no place.
var busy = limit.Refusal{Name: "transfers of files", Code: loci.CodeUnavailable, RetryAfter: 5 * time.Second,
	Message: "Too many files, or too many of one owner, are uploaded or downloaded at once: try again later."}

// A limiter bounds the transfers that run at once. Each holds file descriptors beside its connection.
type limiter struct {
	attachments, owners *limit.Shares[loci.ID]
}

// newLimiter returns a limiter of transfers, of which one owner has a share; 0 is unbounded.
func newLimiter(transfers int) limiter {
	if transfers == 0 {
		transfers = math.MaxInt
	}
	return limiter{limit.NewShares[loci.ID](math.MaxInt, maxOfAttachment),
		limit.NewShares[loci.ID](transfers, limit.Share(transfers))}
}

// A transfer holds a place of its attachment, and one of the owner of the workspace.
type transfer [2]*limit.Holding[loci.ID]

// begin adds a transfer, or refuses it. The function stops one that has lost its place.
func (l limiter) begin(attachment, owner loci.ID, stop func()) (t transfer, err error) {
	if t[0] = l.attachments.TryAdd(attachment, stallTimeout, stop); t[0] == nil {
		return t, busy.Error(busy.RetryAfter)
	}
	if t[1] = l.owners.TryAdd(owner, stallTimeout, stop); t[1] == nil {
		t[0].Remove()
		return t, busy.Error(busy.RetryAfter)
	}
	return t, nil
}

// wait begins the wait for the client.
func (t transfer) wait() { t[0].Wait(); t[1].Wait() }

func (t transfer) end() { t[0].Remove(); t[1].Remove() }
