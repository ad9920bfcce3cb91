package limit

import (
	"fmt"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of the streams: of a user at least minUserStreams or a part of all connections, and of all streams.
const (
	minUserStreams  = 64
	userStreamsPart = 32 // of the connections, of which a user has one part where that is more
	streamRetry     = 5 * time.Second
)

// Streams bound the streams that users, networks and all callers hold at once.
type Streams struct {
	users, networks *Semaphore[Key]
}

// NewStreams returns the bounds of a server that serves a number of connections. A user or a network holds at most a
// quarter of them as streams, and all callers three quarters.
func NewStreams(connections int) *Streams {
	share := Share(connections)
	user := min(share, max(minUserStreams, connections/userStreamsPart))
	return &Streams{
		users: NewSemaphore[Key](Bounds{PerKey: user, Refusal: Refusal{Name: "streams of a user",
			Code: loci.CodeRateLimited, RetryAfter: streamRetry,
			Message: fmt.Sprintf("You have %d streams already, over all your keys: close one.", user)}}),
		networks: NewSemaphore[Key](Bounds{PerKey: share, Total: max(share, connections-share), Refusal: Refusal{
			Name: "streams of a network", Code: loci.CodeUnavailable, RetryAfter: streamRetry,
			Message: "Your network, or the server, holds as many streams as it may: close one, or try again later."}}),
	}
}

// Acquire counts a stream until release is called, or refuses it.
func (s *Streams) Acquire(user loci.ID, address string) (release func(), err error) {
	releaseUser, err := s.users.TryAcquire(User(user), 1)
	if err != nil {
		return nil, err
	}
	releaseNetwork, err := s.networks.TryAcquire(Subnet(address), 1)
	if err != nil {
		releaseUser()
		return nil, err
	}
	return func() { releaseNetwork(); releaseUser() }, nil
}
