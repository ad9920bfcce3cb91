package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
)

// MaxEvent bounds the bytes of an event. The largest one of a server is ready, with 1 MiB of unread messages.
const MaxEvent = 16 << 20

// Times of a stream.
const (
	defaultRetry = 3 * time.Second // before the first reconnect, unless the server sets another pause
	minRetry     = 100 * time.Millisecond
	maxRetry     = 30 * time.Second // unless the server sends a longer Retry-After
	minSilence   = time.Minute      // three usual heartbeats
	maxSilence   = 30 * time.Minute // three of the slowest heartbeats
)

// OnReconnect calls f before a stream pauses to connect again: with the reason, and the pause. Other calls ignore it.
func OnReconnect(f func(reason error, pause time.Duration)) CallOption {
	return func(x *request) { x.onReconnect = f }
}

// LastEventID continues a stream after the message of this id: messages since then are sent again, also those that were
// read. Without it a stream begins with the unread messages.
func LastEventID(id loci.ID) CallOption { return withHeader(lastEventIDHeader, string(id)) }

const lastEventIDHeader = "Last-Event-Id" // in canonical form

// AgentEvents calls agent.events, GET /v1/agent-messages/events.
//
// It follows the messages to the agent of the key, beginning with the unread ones. Each connection begins with an event
// ready; messages and heartbeats follow. Messages come in order, and are not acknowledged.
//
//	for e, err := range c.AgentEvents(ctx, loci.ListenAgent{}) {
//		if err != nil {
//			return err
//		}
//		for _, m := range e.Messages() {
//			...
//		}
//	}
//
// A lost connection does not end the sequence: it connects again, and continues after the last message. Pauses grow
// from that of the server to 30 seconds, and obey Retry-After. A stream that is silent for a minute, or for three
// heartbeats if they are slower, counts as lost. OnReconnect observes it. A message occurs once in a sequence, and
// again in another one as long as it is unread.
//
// An error is the last element. It is a *loci.Error with the code revoked if the key was revoked, the refusal of the
// server, or the error of ctx. The deadline of the HTTP client does not apply.
func (c *Client) AgentEvents(ctx context.Context, in loci.ListenAgent, options ...CallOption) iter.Seq2[loci.AgentEvent,
	error] {
	return func(yield func(loci.AgentEvent, error) bool) {
		if err := c.newAgentStream(in, options).run(ctx, yield); err != nil {
			yield(loci.AgentEvent{}, err)
		}
	}
}

// An agentStream is a sequence of events over several connections.
type agentStream struct {
	client  *Client
	http    *http.Client // without a deadline
	request *request
	silence time.Duration // the longest without a byte
	least   time.Duration // the least value of silence
	retry   time.Duration // the pause before the first reconnect

	lastID   string // of the last message that the caller has got
	seen     recentIDs
	opened   bool // a connection had an event
	failures int  // since the last event
}

func (c *Client) newAgentStream(in loci.ListenAgent, options []CallOption) *agentStream {
	withoutDeadline := *c.http
	withoutDeadline.Timeout = 0
	s := &agentStream{client: c, http: &withoutDeadline, silence: minSilence, least: minSilence, retry: defaultRetry,
		request: &request{method: http.MethodGet, url: c.baseURL + "/v1/agent-messages/events", header: http.Header{}}}
	if in.WorkspaceID != "" {
		s.request.url += "?" + url.Values{"workspace_id": {string(in.WorkspaceID)}}.Encode()
	}
	for _, o := range asAgent(options) {
		o(s.request)
	}
	s.lastID = s.request.header.Get(lastEventIDHeader)
	return s
}

// A lostError is a lost connection: another one may have events.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// run yields events until the caller has enough, which is no error.
func (s *agentStream) run(ctx context.Context, yield func(loci.AgentEvent, error) bool) error {
	if s.client.tokens != nil {
		return loci.Errorf(loci.CodeForbidden, "an agent is named with an API key: make a client with WithKey")
	}
	s.request.credential = s.client.key
	for {
		err := s.follow(ctx, yield)
		lost, ok := errors.AsType[lostError](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !ok:
			return err
		}
		pause := s.nextPause(loci.AsError(lost).RetryAfter)
		if s.request.onReconnect != nil {
			s.request.onReconnect(lost.error, pause)
		}
		if !contextio.Sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// nextPause returns the pause before the next connection: doubled with each one that had no event, less up to a half.
func (s *agentStream) nextPause(retryAfter time.Duration) time.Duration {
	pause := min(s.retry<<min(s.failures, 10), maxRetry)
	s.failures++
	return max(pause-time.Duration(rand.Int64N(int64(pause)/2+1)), retryAfter)
}

// follow yields the events of one connection.
func (s *agentStream) follow(ctx context.Context, yield func(loci.AgentEvent, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := s.connect(ctx, cancel)
	if err != nil {
		return err
	}
	defer body.Close()
	r := newEventReader(body, MaxEvent, s.lastID)
	for {
		start := time.Now()
		sent, err := r.next()
		if r.retry > 0 {
			s.retry = min(max(r.retry, minRetry), maxRetry)
		}
		if err != nil {
			return s.readError(ctx, err)
		}
		s.opened, s.failures = true, 0
		if sent.name == loci.EventHeartbeat {
			s.silence = min(max(s.least, 3*time.Since(start)), maxSilence)
		}
		e, err := decodeAgentEvent(sent)
		if err != nil {
			return err
		}
		if e.EventName() == loci.EventReady && len(*e.Unread) > 0 {
			r.resume(string((*e.Unread)[len(*e.Unread)-1].ID))
		}
		if s.isNews(&e) && !yield(e, nil) {
			return nil
		}
		s.lastID = r.lastID
	}
}

// connect returns the body of a stream. The context ends with errSilent if the server sends nothing.
func (s *agentStream) connect(ctx context.Context, cancel context.CancelCauseFunc) (io.ReadCloser, error) {
	req, err := s.client.newHTTPRequest(ctx, s.request)
	if err != nil {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "the request cannot be made: %v", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Accept-Encoding", "identity") // a proxy that compresses may hold events back
	req.Header.Set("Cache-Control", "no-store")
	req.Header.Del(lastEventIDHeader)
	if s.lastID != "" && isHeaderSafe(s.lastID) {
		req.Header.Set(lastEventIDHeader, s.lastID)
	}
	silent := time.AfterFunc(s.silence, func() { cancel(errSilent) })
	res, err := s.http.Do(req)
	silent.Stop()
	switch {
	case err != nil && context.Cause(ctx) == errSilent:
		return nil, s.readError(ctx, err)
	case err != nil:
		return nil, lostError{unreachableError(ctx, s.client.baseURL, err)}
	}
	if s.request.responseHeader != nil {
		*s.request.responseHeader = res.Header
	}
	body := &watchedBody{res.Body, s, cancel}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // a malformed one is none
	if res.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return body, nil
	}
	defer body.Close()
	text, _ := io.ReadAll(io.LimitReader(body, maxRefusal)) // half a text is not Loci's
	refusal, fromLoci := decodeError(res, s.client.baseURL, text)
	if s.isTemporary(res.StatusCode, refusal.Code, fromLoci) {
		return nil, lostError{refusal}
	}
	return nil, refusal
}

// maxRefusal bounds the bytes of an error response.
const maxRefusal = 1 << 20

// isTemporary reports whether a response that is no stream may be followed by one. A proxy may answer not found, or
// with a page of its own, while the server restarts.
func (s *agentStream) isTemporary(status int, code loci.Code, fromLoci bool) bool {
	switch {
	case code == loci.CodeQuotaExceeded: // for the rest of the month
		return false
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return true
	}
	return s.opened && !fromLoci && (status == http.StatusNotFound || status == http.StatusOK)
}

// errSilent is the cause of a context whose connection had no byte for too long.
var errSilent = errors.New("the server is silent")

// A watchedBody ends its connection if a read takes too long.
type watchedBody struct {
	io.ReadCloser
	stream *agentStream
	cancel context.CancelCauseFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	silent := time.AfterFunc(b.stream.silence, func() { b.cancel(errSilent) })
	defer silent.Stop()
	return b.ReadCloser.Read(p)
}

// readError returns the error of a connection that is silent or cannot be read.
func (s *agentStream) readError(ctx context.Context, err error) error {
	tooLarge, ok := errors.AsType[eventTooLargeError](err)
	switch {
	case ok:
		return loci.Errorf(loci.CodePayloadTooLarge, "%v", tooLarge)
	case context.Cause(ctx) == errSilent:
		silence := s.silence
		s.silence = min(2*silence, maxSilence) // its heartbeats may be slower
		return lostError{loci.Errorf(loci.CodeUnavailable, "%s has sent nothing for %v", s.client.baseURL, silence)}
	case err == io.EOF:
		return lostError{loci.Errorf(loci.CodeUnavailable, "%s has ended the stream", s.client.baseURL)}
	}
	return lostError{loci.Errorf(loci.CodeUnavailable, "the connection to %s was lost: %v", s.client.baseURL, err)}
}

// decodeAgentEvent decodes an event. The event auth.revoked is an error. An unknown one has no content.
func decodeAgentEvent(sent serverEvent) (loci.AgentEvent, error) {
	e := loci.NewAgentEvent(sent.name)
	switch sent.name {
	case loci.EventAuthRevoked:
		return e, loci.NewError(loci.CodeRevoked)
	case loci.EventReady, loci.EventMessageCreated, loci.EventHeartbeat:
	default:
		return e, nil
	}
	err := json.Unmarshal(sent.data, &e)
	if err == nil && (sent.name == loci.EventReady && e.Unread == nil ||
		sent.name == loci.EventMessageCreated && e.Message == nil) {
		err = fmt.Errorf("%s lacks a member", sent.name)
	}
	if err != nil {
		return e, unreadableError(err)
	}
	return e, nil
}

// isNews reports whether the caller gets an event: a known one, and no message that it has already. The event ready
// loses such messages.
func (s *agentStream) isNews(e *loci.AgentEvent) bool {
	switch e.EventName() {
	case loci.EventReady:
		unread := slices.DeleteFunc(*e.Unread, func(m loci.InboxMessage) bool { return !s.seen.add(m.ID) })
		e.Unread = &unread
		return true
	case loci.EventMessageCreated:
		return s.seen.add(e.Message.ID)
	}
	return e.EventName() == loci.EventHeartbeat
}

// recentIDs are the last ids that were added, as many as an inbox can hold.
type recentIDs struct {
	known map[loci.ID]bool
	ring  []loci.ID
	next  int
}

// add adds an id, and reports whether it is new.
func (r *recentIDs) add(id loci.ID) bool {
	if r.known[id] {
		return false
	}
	if r.known == nil {
		r.known = map[loci.ID]bool{}
	}
	if len(r.ring) < loci.MaxOpenMessages {
		r.ring = append(r.ring, id)
	} else {
		delete(r.known, r.ring[r.next])
		r.ring[r.next] = id
		r.next = (r.next + 1) % len(r.ring)
	}
	r.known[id] = true
	return true
}
