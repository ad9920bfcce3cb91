package mcp

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/op"
)

// A messageStream carries messages to a client before the response to its request.
type messageStream interface {
	send(message []byte) error
	// keepAlive writes something that is no message, where a silent connection would be closed.
	keepAlive() error
	// closing is closed when no more requests come: the stream ends then.
	closing() <-chan struct{}
}

// Bounds of a subscription. A client subscribes again when one ends.
const (
	keepAliveInterval = 20 * time.Second
	identifyInterval  = time.Second // between two checks of the credential
	maxSubscription   = 15 * time.Minute
	maxListenBytes    = 16 << 10 // of the message, which stays in memory
)

// listen acknowledges a subscription to nothing, because no list of Loci changes, and holds it. A client whose
// subscription ended at once would ask again.
func (d *Server) listen(ctx context.Context, x *exchange) ([]byte, *rpcError) {
	if !isObject(x.params["notifications"]) {
		return nil, invalidParams("params.notifications must be an object.")
	}
	if x.size > maxListenBytes {
		return nil, invalidParams("A message that subscribes must have at most 16 KiB.")
	}
	release, err := d.subscriptions.TryAcquire(limit.User(x.call.UserID), 1)
	if err != nil {
		return nil, operationError(err, x.call)
	}
	defer release()
	if d.AcquireStream != nil {
		end, err := d.AcquireStream(x.call.UserID, x.call.Address)
		if err != nil {
			return nil, operationError(err, x.call)
		}
		defer end()
	}
	if x.stream.send(encode(result{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
		"params": result{"_meta": result{metaSubscriptionID: x.id()}, "notifications": result{}}})) == nil {
		hold(ctx, x.stream, func() bool { return d.hasEnded(ctx, x.call) })
	}
	return d.encodeResult(result{"_meta": result{metaSubscriptionID: x.id()}}, true), nil
}

// hasEnded reports whether the credential of a call has expired or was revoked since the call began.
func (d *Server) hasEnded(ctx context.Context, c *op.Call) bool {
	if d.Identify == nil {
		return false
	}
	err := d.Identify(ctx, c)
	return loci.Is(err, loci.CodeInvalidKey) || loci.Is(err, loci.CodeRevoked)
}

// hold returns when the client has left, its credential has ended, the server closes or the subscription has lasted
// long enough.
func hold(ctx context.Context, s messageStream, ended func() bool) {
	tick, check := time.NewTicker(keepAliveInterval), time.NewTicker(identifyInterval)
	defer tick.Stop()
	defer check.Stop()
	end := time.NewTimer(maxSubscription)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.closing():
			return
		case <-end.C:
			return
		case <-check.C:
			if ended() {
				return
			}
		case <-tick.C:
			if s.keepAlive() != nil {
				return
			}
		}
	}
}

// maxSubscriptions is the most subscriptions of a user.
const maxSubscriptions = 50

// newSubscriptionLimiter bounds the subscriptions of each user.
func newSubscriptionLimiter() *limit.Semaphore[limit.Key] {
	return limit.NewSemaphore[limit.Key](limit.Bounds{PerKey: maxSubscriptions, Refusal: limit.Refusal{
		Name: "subscriptions", Code: loci.CodeRateLimited,
		Message: fmt.Sprintf("There are %d subscriptions already: close one.", maxSubscriptions)}})
}

// An eventStream sends messages as Server-Sent Events (HTML, section 9.2). It begins with the first message.
type eventStream struct {
	w      http.ResponseWriter
	call   *op.Call
	server *Server
	opened bool
}

func (s *eventStream) send(message []byte) error {
	if !s.opened {
		s.opened = true
		h := s.w.Header()
		httpapi.SetQuotaHeaders(h, s.call.Quota)
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		// A subscription outlasts the time that a request has; a recorder of tests has no deadline.
		_ = http.NewResponseController(s.w).SetReadDeadline(time.Time{})
	}
	return s.write("event: message\ndata: " + string(message) + "\n\n")
}

func (s *eventStream) keepAlive() error { return s.write(": keep-alive\n\n") }

func (s *eventStream) closing() <-chan struct{} {
	if s.server.Closing == nil {
		return nil
	}
	return s.server.Closing.Done()
}

func (s *eventStream) write(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}
