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
	Message: "Too many files, or too many of one owner or network, are uploaded or downloaded at once: " +
		"try again later."}

// A limiter bounds the transfers that run at once. Each holds file descriptors beside its connection.
type limiter struct {
	attachments, owners, networks *limit.Shares[limit.Key]
}

// newLimiter returns a limiter of transfers: one owner has a share, one network two, because an address may serve
// several users. 0 is unbounded.
func newLimiter(transfers int) limiter {
	if transfers == 0 {
		transfers = math.MaxInt
	}
	share := limit.Share(transfers)
	return limiter{limit.NewShares[limit.Key](math.MaxInt, maxOfAttachment),
		limit.NewShares[limit.Key](transfers, share), limit.NewShares[limit.Key](math.MaxInt, 2*share)}
}

// A transfer holds a place of its attachment, one of the owner of the workspace, and one of the client's network.
type transfer []*limit.Holding[limit.Key]

// begin adds a transfer, or refuses it. The function stops one that has lost its place.
func (l limiter) begin(attachment, owner loci.ID, network limit.Key, stop func()) (t transfer, err error) {
	for _, x := range []struct {
		of  *limit.Shares[limit.Key]
		key limit.Key
	}{{l.networks, network}, {l.owners, limit.User(owner)}, {l.attachments, limit.User(attachment)}} {
		h := x.of.TryAdd(x.key, stallTimeout, stop)
		if h == nil {
			t.end()
			return nil, busy.Error(busy.RetryAfter)
		}
		t = append(t, h)
	}
	return t, nil
}

// wait begins the wait for the client.
func (t transfer) wait() {
	for _, h := range t {
		h.Wait()
	}
}

func (t transfer) end() {
	for _, h := range t {
		h.Remove()
	}
}
