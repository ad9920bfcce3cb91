package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/files"
	"github.com/loci-memory/loci/internal/filetoken"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/job"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/oauth"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/server/listen"
	"github.com/loci-memory/loci/internal/server/serverlog"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/internal/web"
	"github.com/loci-memory/loci/internal/web/console"
)

// Serve runs a server until ctx ends. Messages for people go to console, the log to logs.
func Serve(ctx context.Context, s Settings, console, logs io.Writer) error {
	log, flush := serverlog.New(logs, s.LogFormat, s.LogLevel)
	x := &instance{Settings: s, log: log, closers: []func(){flush}}
	defer x.close()
	for _, step := range []func(context.Context) error{x.prepare, x.open, x.wire, x.start} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, w := range x.warnings {
		log.Warn(w)
	}
	if err := printBanner(ctx, console, x.service, x.listener, x.urls, x.warnings); err != nil {
		return err
	}
	if s.onReady != nil {
		s.onReady(x.PublicURL)
	}
	return listen.Serve(ctx, s.drained(ctx, log), x.listener, x.descriptors.Connections(),
		x.TrustedProxies, x.handler(x.descriptors.Transfers()), log)
}

// An instance is a server that starts, with its parts.
type instance struct {
	Settings
	log         *slog.Logger
	warnings    []string // for the operator
	descriptors listen.FileBudget
	model       vector.Embedder
	previous    vector.Embedder
	extractor   extract.Model
	files       *bucketCheck
	store       *store.Store
	listener    net.Listener
	urls        []string // under which people reach it
	gate        *auth.Gate
	service     *service.Service
	metrics     *metrics
	host        *op.Host
	closers     []func() // of the parts, in the order of their opening
}

// close closes the parts, the last one first.
func (x *instance) close() {
	for _, f := range slices.Backward(x.closers) {
		f()
	}
}

// prepare reads what the settings name, and locks the data folder.
func (x *instance) prepare(context.Context) (err error) {
	if x.deprecations, err = x.readDeprecations(); err != nil {
		return err
	}
	database := sqlite.FileDescriptors()
	if x.DB != "" {
		if database, err = postgres.Connections(x.DB); err != nil {
			return err
		}
	}
	if x.descriptors, err = listen.NewFileBudget(database); err != nil {
		return err
	}
	if x.warnings, err = x.ensureDataDir(); err != nil {
		return err
	}
	unlock, err := x.lock()
	if err != nil {
		return err
	}
	x.closers = append(x.closers, unlock)
	if x.model, x.previous, err = x.embedder(); err != nil {
		return err
	}
	if x.extractor, err = x.Settings.extractor(); err != nil {
		return err
	}
	bucket, err := x.openBucket()
	x.files = &bucketCheck{bucket: bucket, log: x.log}
	return err
}

// open opens database and listener. An address in use must not leave a new database behind, so it is tried before.
// While a migration runs, nobody listens.
func (x *instance) open(ctx context.Context) (err error) {
	if x.listener, err = listen.TCP(ctx, x.Listen, "listen"); err != nil {
		return err
	}
	x.listener.Close()
	if x.store, err = x.openWaiting(ctx); err != nil {
		return err
	}
	x.closers = append(x.closers, func() { x.store.Close() })
	if x.listener, err = listen.TCP(ctx, x.Listen, "listen"); err != nil {
		return err
	}
	x.closers = append(x.closers, func() { x.listener.Close() })
	if x.urls = []string{x.PublicURL}; x.PublicURL == "" {
		x.urls = listen.URLs(x.listener.Addr())
	}
	x.inferredURL, x.PublicURL = x.PublicURL == "", x.urls[0]
	x.warn(ctx)
	return nil
}

// warn collects what the operator should know, and saves what loci admin must.
func (x *instance) warn(ctx context.Context) {
	add := func(condition bool, text string) {
		if condition {
			x.warnings = append(x.warnings, text)
		}
	}
	moved := x.movedFilesWarning(ctx, x.store)
	add(moved != "", moved)
	if err := x.save(ctx, x.store, x.listener.Addr()); err != nil { // a full disk, which still answers reads
		add(true, "loci admin does not learn the plans and the address of this server: "+err.Error())
	}
	if err := x.saveIdentity(x.store.Identity()); err != nil {
		add(true, "a database that is made anew under this address is not noticed: "+err.Error())
	}
	add(!httpapi.IsSecureURL(x.PublicURL), plainHTTPWarning)
	add(x.Mail != nil && x.inferredURL, "links in mails begin with "+x.PublicURL+": set LOCI_PUBLIC_URL to the "+
		"address that people use")
	add(x.descriptors.Warning() != "", x.descriptors.Warning())
}

// wire makes the service and its gate.
func (x *instance) wire(ctx context.Context) error {
	x.gate = auth.NewGate(x.store, auth.Options{Rate: x.RateLimit, Burst: x.RateBurst,
		FreeOperation: service.AccountStatus.Name, Clock: x.clock(), Log: x.log, Shared: x.DB != "",
		VerifyFileToken: func(ctx context.Context, token string) (filetoken.Holder, error) {
			return x.service.VerifyFileToken(ctx, token)
		}})
	x.closers = append(x.closers, x.gate.Close)
	ready := newReadiness(x.store, x.log, ctx.Done())
	x.metrics = newMetrics(x.store, ready)
	x.service = service.New(service.Options{State: ready.state, OnRefused: x.metrics.countRefusedSignIn,
		Store: x.store, Embedder: x.model, PreviousEmbedder: x.previous, Clock: x.clock(),
		Registration: x.Registration, SignInLimit: x.SignInLimit,
		PublicURL: x.PublicURL, UsedOperations: x.gate.Used, SendMail: x.sendMail(), Extractor: x.extractor,
		DailyTokens: x.LLMDailyTokens, Heartbeat: x.Heartbeat, Bucket: x.files.bucket, MaxFile: x.MaxFile,
		BucketDown: x.files.down})
	x.metrics.registry.MustRegister(x.files, lastBackupCollector{x.Data}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "loci_streams", Help: "Streams of agents that listen to their messages, and of people."},
		func() float64 { return float64(x.service.Dispatcher().Streams() + x.service.Changes().Streams()) }))
	if x.extractor != nil {
		x.metrics.registry.MustRegister(extractionCollector{x.store, x.service, ready})
	}
	streams := limit.NewStreams(x.descriptors.Connections())
	x.host = &op.Host{Service: x.service, AcquireStream: streams.Acquire, Admit: x.gate.Admit,
		Identify: x.gate.Identify, Charge: x.gate.Charge, Closing: ctx, Log: x.log, Observe: x.metrics.observe}
	return nil
}

// start starts the metrics listener and the jobs, which also run while the last calls are answered.
func (x *instance) start(ctx context.Context) error {
	stopMetrics, err := x.metrics.listen(ctx, x.MetricsListen, x.log)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	jobs := newJobs(x.store, x.service.Dispatcher(), x.service.Changes(), x.gate, x.metrics, x.log)
	jobs.Add(job.Job{Name: "check_files", Every: bucketInterval, Run: x.files.checkOnce})()
	jobs.Start(context.WithoutCancel(ctx))
	x.closers = append(x.closers, stopMetrics, jobs.Stop)
	x.store.Jobs().Start(context.WithoutCancel(ctx))
	return nil
}

// drained returns a context that ends when the drain is over, which begins with the end of ctx.
func (s Settings) drained(ctx context.Context, log *slog.Logger) context.Context {
	closing, end := context.WithCancel(context.WithoutCancel(ctx))
	after := s.after
	if after == nil {
		after = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	context.AfterFunc(ctx, func() {
		log.Info("the server shuts down", "drain", s.Drain.String())
		after(s.Drain, end)
	})
	return closing
}

// ensureDataDir makes the data folder, and returns warnings for the operator.
func (s Settings) ensureDataDir() (warnings []string, err error) {
	if s.DB != "" {
		return nil, nil
	}
	if err := s.refusePartialRestore(); err != nil {
		return nil, err
	}
	w, err := ensurePrivateDir(s.Data)
	if w != "" {
		warnings = append(warnings, w)
	}
	return warnings, err
}

// refusePartialRestore refuses a folder in which a restore prepares the database, so that none is made meanwhile.
func (s Settings) refusePartialRestore() error {
	partial, _ := fs.Glob(os.DirFS(s.Data), backup.PartialRestore) // the pattern is valid
	if _, err := os.Stat(filepath.Join(s.Data, sqlite.FileName)); len(partial) > 0 && errors.Is(err, fs.ErrNotExist) {
		return loci.Errorf(loci.CodeConflict, "a restore into %s runs, or was cut off: run it again, or delete "+
			"%s there to begin with an empty database", s.Data, partial[0])
	}
	return nil
}

// lock makes sure that only one server uses a data folder.
func (s Settings) lock() (unlock func(), err error) {
	if s.DB != "" {
		return func() {}, nil
	}
	l := flock.New(filepath.Join(s.Data, backup.LockFile))
	ok, err := l.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("another server runs in %s: stop it first, or choose another --data", s.Data)
	}
	return func() { l.Unlock() }, err
}

// handler returns the handler of all requests, of which some at once may transfer files.
func (x *instance) handler(transfers int) http.Handler {
	table, omitted := service.Ops.Variant(service.Variants[x.Contract])
	var pages []web.Page
	if !x.NoConsole {
		pages = console.Pages
	}
	hosts := httpapi.NewAllowedHosts(x.PublicURL, x.TrustedProxies)
	site := httpapi.Site{PublicURL: x.PublicURL, PublicURLInferred: x.inferredURL, TrustedProxies: x.TrustedProxies,
		Origins: httpapi.NewOrigins(x.PublicURL, x.Origins...)}
	authorization := oauth.New(oauth.Options{Store: x.store, PublicURL: x.PublicURL, Clock: x.clock(), Host: x.host,
		TrustedProxies: x.TrustedProxies, NetworkLimit: x.SignInLimit, ClientDocuments: x.OAuthCIMD,
		DocumentAccess: x.documentAccess})
	responses, bodies := httpapi.NewResponseLimiter(), httpapi.NewBodyLimiter()
	mcpServer := mcp.New(mcp.Options{
		Table: table, Caller: x.host, Version: Version, Toolset: x.Toolset, Origins: site.Origins,
		AllowQueryKey: x.QueryKey, Hosts: hosts, TrustedProxies: x.TrustedProxies, ResponseLimiter: responses,
		BodyLimiter: bodies, Closing: x.host.Closing, AcquireStream: x.host.AcquireStream,
		ResourceMetadataURL: x.PublicURL + "/.well-known/oauth-protected-resource/mcp",
		Authenticate: func(ctx context.Context, c *op.Call) error {
			actor, err := x.gate.Admit(ctx, nil, c)
			if err == nil {
				c.UserID = actor.UserID
			}
			return err
		},
		Identify: x.gate.Identify, OnUnmatched: x.metrics.countUnmatched,
	})
	return rest.New(rest.Options{
		ServiceVersion: Version,
		Table:          table, Host: x.host, Log: x.log, Site: site,
		ExtraRoutes: slices.Concat(web.Routes(web.Options{Table: pageTable(omitted), Host: x.host, Service: x.service,
			Site: site, Authorizer: authorization, Mail: x.Mail != nil, Pages: pages}),
			authorization.Routes(), mcpServer.Routes(),
			files.Routes(files.Options{Service: x.service.Files(), Log: x.log, Prefixes: rest.FilePrefixes,
				MaxTransfers: transfers, TrustedProxies: x.TrustedProxies})),
		ErrorPage:   web.ErrorPage(site),
		OnUnmatched: x.metrics.countUnmatched, OnIgnoredProxy: x.metrics.countIgnoredProxy,
		OmittedOps: omitted, Deprecations: x.deprecations,
		ResponseLimiter: responses, BodyLimiter: bodies, Hosts: x.restHosts(hosts),
	})
}

// pageTable returns the operations of pages: those of the variant, and what deletes, which the console does in each.
func pageTable(omitted []*op.Op) *op.Table {
	var names []string
	for _, o := range omitted {
		if !o.Has(op.Destructive) {
			names = append(names, o.Name)
		}
	}
	table, _ := service.Ops.Without(names)
	return table
}

// restHosts returns the hosts that REST accepts. A server on a network accepts
// any name; a server on a loopback address accepts only its own.
func (s Settings) restHosts(own *httpapi.AllowedHosts) *httpapi.AllowedHosts {
	if !httpapi.IsLoopback(s.Listen) {
		return nil
	}
	return own
}
