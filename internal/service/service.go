// Package service implements the operations: one method for each operation, one
// file for each resource. It knows neither HTTP nor SQL.
package service

import (
	"cmp"
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/password"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/service/file"
	"github.com/loci-memory/loci/internal/service/message"
	"github.com/loci-memory/loci/internal/service/session"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/vector"
)

// A Service runs the operations.
type Service struct {
	Options
	*sessions
	*messages
	*files
	searcher        *retrieve.Searcher
	passwords       password.Hasher
	signInLimiter   *limit.SignIns
	registrations   *limit.Attempts[limit.Key]
	referralLookups *limit.Attempts[limit.Key]
	linkLimiter     *limit.Attempts[limit.Key]
	mailLimiter     *limit.Attempts[limit.Key]
	resetLimiter    *limit.SignIns // of requests for a link, which neither sign-ins nor other mails use up
	setup           setupLink
}

// The services of other packages, whose operations a Service has.
type (
	sessions = session.Service
	messages = message.Service
	files    = file.Service
)

// Options are the dependencies and settings of a Service.
type Options struct {
	Store        *store.Store
	Clock        loci.Clock
	Registration Registration
	// failed sign-ins of an account or an address in 15 minutes; 0 turns the limit off
	SignInLimit int
	PublicURL   string // the public address of the server, without a trailing slash

	// OnRefused is called with the cause of each refused sign-in, one of SignInRefusals; it may be nil.
	OnRefused func(cause string)

	// SendMail sends a mail. Without it the server sends none, and shows links of invitations instead.
	SendMail func(context.Context, mail.Message) error

	// Extractor extracts statements with a language model, within DailyTokens of all servers. Without it rules alone
	// extract.
	Extractor   extract.Model
	DailyTokens int64

	// UsedOperations returns the operations of the month that the actor has used, and when the month ends.
	UsedOperations func(ctx context.Context, actor *identity.Actor) (used int64, ends time.Time, err error)

	// Embedder embeds queries; it is the store's. Without it keywords alone
	// answer. PreviousEmbedder serves workspaces that still have its vectors.
	Embedder, PreviousEmbedder vector.Embedder
	// how long a search waits for the embedder; 0 means 300 ms
	EmbedTimeout time.Duration
	// how long a create waits for the vector of its text; 0 means 10 ms
	SimilarTimeout time.Duration

	// Heartbeat is the time between two heartbeats of a stream; 0 means 20 s.
	Heartbeat time.Duration

	// State returns the state of the server; nil means that it works.
	State func() loci.ServiceState

	// Bucket keeps the files of memories. Without one the calls of files are unavailable.
	Bucket  blob.Bucket
	MaxFile int64 // the most bytes of a file; 0 means file.DefaultMaxFile
	// BucketDown returns why the bucket did not answer its last check; it may be nil. Calls are refused meanwhile.
	BucketDown func() error
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{Options: o, searcher: retrieve.New(retrieve.Options{Secret: o.Store.Secret(),
		Embedder: o.Embedder, Previous: o.PreviousEmbedder, EmbedTimeout: o.EmbedTimeout,
		Models: o.Store.Embedder(), Caches: o.Store.Caches()}),
		passwords:     password.NewHasher(),
		signInLimiter: limit.NewSignIns(o.Clock, o.SignInLimit, o.Store.Caches()),
		registrations: limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "registrations",
			"Too many registrations: wait for Retry-After seconds."),
		referralLookups: limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "referral codes",
			"Too many codes that nobody has: wait for Retry-After seconds."),
		linkLimiter: limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "uses of links",
			"Too many links that do not work: wait for Retry-After seconds."),
		mailLimiter: limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "mails",
			"Too many mails were asked for: wait for Retry-After seconds.")}
	s.resetLimiter = s.signInLimiter.Beside(limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "reset links",
		"Too many links were asked for: wait for Retry-After seconds."))
	s.sessions = session.New(session.Options{Store: o.Store, Extractor: o.Extractor, DailyTokens: o.DailyTokens,
		Route: s.resolveAtlas, Context: s.atlasContext, Search: s.bestInAtlas})
	s.files = file.New(file.Options{Store: o.Store, Clock: o.Clock, PublicURL: o.PublicURL, Bucket: o.Bucket,
		MaxFile: o.MaxFile, BucketDown: o.BucketDown})
	s.messages = message.New(o.Store, cmp.Or(o.Heartbeat, 20*time.Second))
	if s.SendMail != nil {
		s.handleMails()
	}
	return s
}

// Files returns the service of files.
func (s *Service) Files() *file.Service { return s.files }
