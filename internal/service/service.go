// Package service implements the operations: one method for each operation, one
// file for each resource. It knows neither HTTP nor SQL.
package service

import (
	"cmp"
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/dispatch"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/password"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/vector"
)

// A Service runs the operations.
type Service struct {
	Options
	searcher      *retrieve.Searcher
	passwords     password.Hasher
	signInLimiter *limit.SignIns
	registrations *limit.Attempts[limit.Key]
	linkLimiter   *limit.Attempts[limit.Key]
	mailLimiter   *limit.Attempts[limit.Key]
	setup         setupLink
	extraction    extractionCounts
	dispatcher    *dispatch.Dispatcher
	fileKeys      fileKeys
	uploads       *limit.Semaphore[loci.ID] // by attachment
}

// Options are the dependencies and settings of a Service.
type Options struct {
	Store        *store.Store
	Clock        loci.Clock
	Registration Registration
	// failed sign-ins of an account or an address in 15 minutes; 0 turns the limit off
	SignInLimit int
	PublicURL   string // the public address of the server, without a trailing slash

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

	// Heartbeat is the time between two heartbeats of a stream; 0 means 20 s.
	Heartbeat time.Duration

	// Bucket keeps the files of memories. Without one the calls of files are unavailable.
	Bucket  blob.Bucket
	MaxFile int64 // the most bytes of a file; 0 means 100 MiB
	// BucketDown returns why the bucket did not answer its last check; it may be nil. Calls are refused meanwhile.
	BucketDown func() error
}

// DefaultMaxFile is the most bytes of a file where the operator sets no limit.
const DefaultMaxFile = 100 << 20

// New returns a Service.
func New(o Options) *Service {
	s := &Service{Options: o, searcher: retrieve.New(retrieve.Options{Secret: o.Store.Secret(),
		Embedder: o.Embedder, Previous: o.PreviousEmbedder, EmbedTimeout: o.EmbedTimeout,
		Models: o.Store.Embedder()}),
		passwords:     password.NewHasher(),
		signInLimiter: limit.NewSignIns(o.Clock, o.SignInLimit),
		registrations: limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "registrations",
			"Too many registrations: wait for Retry-After seconds."),
		linkLimiter: limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "uses of links",
			"Too many links that do not work: wait for Retry-After seconds."),
		mailLimiter: limit.NewAttempts[limit.Key](o.Clock, o.SignInLimit, "mails",
			"Too many mails were asked for: wait for Retry-After seconds."),
		uploads: newUploads()}
	s.Heartbeat = cmp.Or(s.Heartbeat, 20*time.Second)
	s.MaxFile = cmp.Or(s.MaxFile, DefaultMaxFile)
	s.dispatcher = dispatch.New(s.Store)
	s.Store.Subscribe(func(accountdb.Change) { s.dispatcher.Recheck() })
	s.Store.SubscribeMessages(s.dispatcher.Announce)
	if s.SendMail != nil {
		s.handleMails()
	}
	if s.Bucket != nil {
		s.Store.Jobs().Handle(attachmentdb.DeleteObjectJob, s.deleteObject)
	}
	if s.Extractor != nil {
		s.Store.Jobs().Handle(extractEvent, s.extractJob)
	}
	return s
}

// write and read run f for an actor.
func write[Out any](ctx context.Context, s *Service, actor *identity.Actor,
	f func(*store.Tx) (Out, error)) (Out, error) {
	out, err := store.Write(ctx, s.Store, actor, f)
	return out, s.addQuotaReset(err)
}

func read[Out any](ctx context.Context, s *Service, actor *identity.Actor,
	f func(*store.Tx) (Out, error)) (Out, error) {
	return store.Read(ctx, s.Store, actor, f)
}

// addQuotaReset adds the end of the month to a quota error.
func (s *Service) addQuotaReset(err error) error {
	if e := loci.AsError(err); err != nil && e.Code == loci.CodeQuotaExceeded && e.RetryAfter == 0 {
		now := s.Clock()
		e.RetryAfter = identity.MonthEnd(now).Sub(now)
	}
	return err
}
