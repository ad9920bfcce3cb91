package op

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

// A Call is the context of an operation's call beside its fields. A transport
// fills the first part; Run fills the second.
type Call struct {
	Transport  string // TransportREST, TransportMCP, "page", "oauth" or "command"
	Credential string // the credential itself: a key, a token, a cookie's secret
	// how the credential was sent: a cookie, or any other bearer
	CredentialKind      identity.CredentialKind
	ActorHeader         string // of the actor header: "" or ActorAgent
	AgentIDSent         bool   // the client sent an agent id, which only the server assigns
	CrossOrigin         bool   // a browser sent it from another origin
	Address             string // of the peer
	UserAgent           string // of a browser, as it names itself
	RequestID           string
	IdempotencyKey      string
	IdempotencyKeyCount int // the number of sent keys: one may be empty, and several are invalid
	IfMatch             string
	LastEventID         string // of a stream: the last event that the client has got
	Continuation        bool   // a transport calls again for one call of its client: it counts once

	// Send writes one event of a stream, and reports whether the client wants more. Without it a stream has no events.
	Send func(event any) (more bool, err error)

	RateCharged bool // the rate was charged for the message of the call

	UserID       loci.ID // of the caller, once the credential is known
	CredentialID loci.ID // of the credential, once it is known: of the key, the sign-in or the grant
	Quota        *Quota  // of the caller's plan, once the credential is known
	Replayed     bool    // the response was stored by an earlier call
	ETag         string  // the entity tag of the returned record, if it has one
}

// The transports with rules of their own: the REST API, and tools.
const (
	TransportREST = "rest"
	TransportMCP  = "mcp"
)

// ActorAgent is the value of the actor header that names an agent.
const ActorAgent = "agent"

// A Quota is the state of the caller's operations in the current window.
type Quota struct {
	Limit, Remaining int64
	Reset            time.Duration // until the window ends
}

// A Host runs the operations of a table on a service.
type Host struct {
	Service any
	// Admit authenticates the caller. It refuses an unknown or revoked credential, and calls over the rate limit or
	// quota. It sets the call's Quota.
	Admit func(ctx context.Context, o *Op, c *Call) (*identity.Actor, error)
	// Identify refuses a credential that ended after Admit; it may be nil.
	Identify func(ctx context.Context, c *Call) error
	// Charge adds the cost of a call beyond one to the rate; it may be nil. It refuses nothing: later calls wait.
	Charge func(ctx context.Context, actor *identity.Actor, more int)
	// Closing ends all streams when it ends, and later ones are refused; it may be nil.
	Closing context.Context
	// AcquireStream counts a stream of a user at an address until release is called, or refuses it; it may be nil.
	AcquireStream func(user loci.ID, address string) (release func(), err error)
	// Log gets one line for each call, without contents.
	Log *slog.Logger
	// Observe is called for each finished call, for metrics; it may be nil.
	Observe func(o *Op, c *Call, code loci.Code, elapsed time.Duration)
}

// Run runs an operation. Every transport calls it, so the common rules are checked here, in the order of refusal:
// credential, rate and quota, the body, its shape. The method follows, whose transaction checks scope, role,
// idempotency and state. args is called once the caller is admitted, so that no other body is read.
func (h *Host) Run(ctx context.Context, o *Op, c *Call, args func() (Args, error)) (out any, err error) {
	start := time.Now()
	var actor *identity.Actor
	var in any
	defer func() {
		if r := recover(); r != nil {
			cause := fmt.Sprintf("%T", r) // the value may contain a text of a user
			if e, ok := r.(runtime.Error); ok {
				cause = e.Error()
			}
			err = &loci.Error{Code: loci.CodeInternalError, Message: loci.CodeInternalError.Hint(),
				Err: fmt.Errorf("panic: %s\n%s", cause, debug.Stack())}
		}
		h.logCall(ctx, callRecord{op: o, call: c, actor: actor, in: in, out: out, err: err, start: start})
	}()
	if actor, err = h.Admit(ctx, o, c); err != nil {
		return nil, err
	}
	c.UserID, c.CredentialID = actor.UserID, actor.CredentialID
	if err := c.authorize(o, actor); err != nil {
		return nil, err
	}
	a, err := args()
	if err == nil && h.Identify != nil && o.Access != Public && time.Since(start) > maxAdmitAge {
		err = h.Identify(ctx, c) // a client may send its body slowly, and lose its credential meanwhile
	}
	if err != nil {
		return nil, err
	}
	if in, err = o.decode(a); err != nil {
		return nil, err
	}
	if w, ok := in.(coster); ok && h.Charge != nil && !c.Continuation {
		if cost := w.Cost(); cost > 1 {
			h.Charge(ctx, actor, cost-1)
		}
	}
	if err := c.bindIdempotencyKey(o, actor, in); err != nil {
		return nil, err
	}
	if o.Has(ServerOnly) && actor.CredentialKind == identity.CredentialLocal {
		return nil, NeedsServer()
	}
	if o.Streams {
		if err := RefuseStream(h.Closing); err != nil {
			return nil, err
		}
		if h.AcquireStream != nil {
			release, err := h.AcquireStream(actor.UserID, c.Address)
			if err != nil {
				return nil, err
			}
			defer release()
		}
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		if h.Closing != nil {
			defer context.AfterFunc(h.Closing, end)()
		}
	}
	out, err = o.run(ctx, h.Service, actor, in, c.Send)
	c.Replayed = actor.Idempotency != nil && actor.Idempotency.Replayed
	if tagged, ok := out.(Tagged); ok && err == nil {
		c.ETag = tagged.ETag()
	}
	if o.Has(ChangesPlan) && err == nil {
		again := *c
		again.Continuation = true
		if _, err := h.Admit(ctx, o, &again); err == nil {
			c.Quota = again.Quota
		}
	}
	return out, err
}

// closingRetry is the pause before a refused client connects again: to the next server, or to another one.
const closingRetry = 2 * time.Second

// RefuseStream returns an error once closing has ended. A stream that began and ended at once would make its client
// connect again and again, because only a refused client waits longer each time.
func RefuseStream(closing context.Context) error {
	if closing == nil || closing.Err() == nil {
		return nil
	}
	return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: closingRetry,
		Message: "The server shuts down: connect again after Retry-After seconds."}
}

// maxAdmitAge is how long an admitted call may run before its credential is checked again.
const maxAdmitAge = time.Second

// A coster input returns how many calls of the rate it counts as.
type coster interface{ Cost() int }

// authorize checks the parts of the call other than credential and fields.
func (c *Call) authorize(o *Op, actor *identity.Actor) error {
	switch {
	case o.Access != Public && !o.Access.Takes(actor.CredentialKind, c.Transport):
		return loci.NewError(loci.CodeInvalidKey)
	case c.CrossOrigin && (o.Exposure == BrowserOnly || actor.CredentialKind == identity.CredentialCookie):
		return loci.Errorf(loci.CodeForbidden, "A page of another origin cannot do this with a cookie: use an API key.")
	case c.AgentIDSent:
		return invalidf("an agent id is given by the server: leave X-Loci-Agent-Id out")
	case c.ActorHeader != "" && (actor.CredentialKind == identity.CredentialCookie ||
		actor.CredentialKind == identity.CredentialToken && c.Transport != TransportMCP):
		return loci.Errorf(loci.CodeForbidden, "An agent needs an API key, or a token with the scope account: use "+
			"one, or leave the actor header out.")
	case c.ActorHeader != "" && c.ActorHeader != ActorAgent:
		return invalidf("the actor header must be agent")
	case c.IdempotencyKeyCount > 1 && o.AcceptsIdempotencyKey():
		return invalidf("Idempotency-Key is given twice")
	case o.Access == Person && !actor.IsPerson():
		return loci.Errorf(loci.CodeInsufficientScope,
			"This needs an API key, a sign-in, or a token with the scope account: a token for some workspaces cannot "+
				"widen its own reach.")
	case o.Access == Agent && !c.ActsAsAgent(o, actor.CredentialKind):
		return loci.Errorf(loci.CodeForbidden, "This is for agents: send X-Loci-Actor: agent and an API key, or a "+
			"token with the scope account.")
	}
	actor.Operation, actor.RequestID = o.Name, c.RequestID
	actor.ClientAddress, actor.UserAgent = c.Address, c.UserAgent
	if o.Has(IfMatch) {
		actor.IfMatch = c.IfMatch
	}
	actor.LastEventID = loci.ID(c.LastEventID)
	return nil
}

// ActsAsAgent reports whether the call of an operation acts as the agent of its key or grant. Every connection of MCP
// is one; elsewhere the actor header says so, but a grant for some workspaces is none there. Without an operation it is
// a message that may run one.
func (c *Call) ActsAsAgent(o *Op, kind identity.CredentialKind) bool {
	switch kind {
	case identity.CredentialKey, identity.CredentialAccount:
	case identity.CredentialToken:
		if c.Transport != TransportMCP {
			return false
		}
	default:
		return false
	}
	return c.ActorHeader == ActorAgent || c.Transport == TransportMCP && o != nil && c.ActorHeader == ""
}

// bindIdempotencyKey binds the call to its Idempotency-Key, if the operation uses one.
func (c *Call) bindIdempotencyKey(o *Op, actor *identity.Actor, in any) error {
	if c.IdempotencyKey == "" && c.IdempotencyKeyCount == 0 || !o.AcceptsIdempotencyKey() {
		return nil
	}
	if n := len(c.IdempotencyKey); n < 1 || n > 200 {
		return invalidf("Idempotency-Key must have 1 to 200 characters")
	}
	for _, b := range []byte(c.IdempotencyKey) {
		if b < ' ' || b > '~' {
			return invalidf("Idempotency-Key must be printable ASCII")
		}
	}
	canonical, err := Marshal(in)
	if err != nil {
		return err
	}
	secret := []byte(c.Credential)
	if actor.GrantSecret != nil {
		secret = actor.GrantSecret // a response stays readable when the client refreshes its token
	}
	actor.Idempotency = &identity.Idempotency{
		Key:           c.IdempotencyKey,
		Fingerprint:   sha256.Sum256(append([]byte(o.Name+"\n"), canonical...)),
		EncryptionKey: sha256.Sum256(append([]byte("loci idempotency seal\n"), secret...)),
	}
	return nil
}

// NeedsServer returns the error of an operation with the trait ServerOnly on a database on the own device.
func NeedsServer() error {
	return loci.Errorf(loci.CodeStateConflict,
		"A database on this device has no passwords, sign-ins, grants, tokens, agents, referrals, invitations and "+
			"other members: name a server with --server or LOCI_URL, or log in to one with loci login URL.")
}
