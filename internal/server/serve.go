package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/files"
	"github.com/loci-memory/loci/internal/filetoken"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/job"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/oauth"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/server/listen"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/web"
)

// Serve runs a server until ctx ends. Messages for people go to console, the log to logs.
func Serve(ctx context.Context, s Settings, console, logs io.Writer) (err error) {
	log, flush := NewLog(logs, s.LogLevel)
	defer flush()
	if s.deprecations, err = s.readDeprecations(); err != nil {
		return err
	}
	database, err := sqldb.FileDescriptors(s.DB)
	if err != nil {
		return err
	}
	descriptors, err := listen.NewFileBudget(database)
	if err != nil {
		return err
	}
	warnings, err := s.ensureDataDir()
	if err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	model, previous, err := s.embedder()
	if err != nil {
		return err
	}
	extractor, err := s.extractor()
	if err != nil {
		return err
	}
	bucket, err := s.openBucket()
	if err != nil {
		return err
	}
	// An address in use must not leave a new database behind. While a migration runs, nobody listens.
	listener, err := listen.TCP(ctx, s.Listen, "listen")
	if err != nil {
		return err
	}
	listener.Close()
	st, err := s.openStore(ctx, store.Options{Log: log, Embedder: model})
	if err != nil {
		return err
	}
	defer st.Close()
	if listener, err = listen.TCP(ctx, s.Listen, "listen"); err != nil {
		return err
	}
	defer listener.Close()
	urls := []string{s.PublicURL}
	if s.PublicURL == "" {
		urls = listen.URLs(listener.Addr())
	}
	s.inferredURL = s.PublicURL == ""
	s.PublicURL = urls[0]
	if w := s.movedFilesWarning(ctx, st); w != "" {
		warnings = append(warnings, w)
	}
	if err := s.save(ctx, st); err != nil { // a full disk, which still answers reads
		warnings = append(warnings, "loci admin does not learn the plans and the address of this server: "+err.Error())
	}
	if !httpapi.IsSecureURL(s.PublicURL) {
		warnings = append(warnings, plainHTTPWarning)
	}
	if s.Mail != nil && s.inferredURL {
		warnings = append(warnings, "links in mails begin with "+s.PublicURL+": set LOCI_PUBLIC_URL to the address "+
			"that people use")
	}
	if w := descriptors.Warning(); w != "" {
		warnings = append(warnings, w)
	}
	fileStore := &bucketCheck{bucket: bucket, log: log}
	var svc *service.Service
	gate := auth.NewGate(st, auth.Options{Rate: s.RateLimit, Burst: s.RateBurst,
		FreeOperation: service.AccountStatus.Name, Clock: s.clock(), Log: log, Shared: s.DB != "",
		VerifyFileToken: func(ctx context.Context, token string) (filetoken.Holder, error) {
			return svc.VerifyFileToken(ctx, token)
		}})
	defer gate.Close()
	svc = service.New(service.Options{Store: st, Embedder: model, PreviousEmbedder: previous,
		Clock: s.clock(), Registration: s.Registration, SignInLimit: s.SignInLimit, PublicURL: s.PublicURL,
		UsedOperations: gate.Used, SendMail: s.sendMail(), Extractor: extractor, DailyTokens: s.LLMDailyTokens,
		Heartbeat: s.Heartbeat, Bucket: bucket, MaxFile: s.MaxFile, BucketDown: fileStore.down})
	ready := &readiness{check: st.Ping, damage: seenDamage, log: log, draining: ctx.Done()}
	m := newMetrics(st, ready)
	m.registry.MustRegister(fileStore.gauge(), prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "loci_streams",
		Help: "Agents that listen to their messages, by the number of their streams."},
		func() float64 { return float64(svc.Dispatcher().Streams()) }))
	if extractor != nil {
		m.registry.MustRegister(extractionCollector{st, svc, ready})
	}
	host := &op.Host{Service: svc, Admit: gate.Admit, Identify: gate.Identify, Charge: gate.Charge, Closing: ctx,
		Log: log, Observe: m.observe}
	stopMetrics, err := m.listen(ctx, s.MetricsListen, log)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	defer stopMetrics()
	jobs := newJobs(st, svc.Dispatcher(), gate, m, log)
	jobs.Add(job.Job{Name: "check_files", Every: bucketInterval, Run: fileStore.checkOnce})()
	jobs.Start(context.WithoutCancel(ctx)) // while the last calls are answered, too
	defer jobs.Stop()
	st.Jobs().Start(context.WithoutCancel(ctx))
	for _, w := range warnings {
		log.Warn(w)
	}
	if err := printBanner(ctx, console, svc, listener, urls, warnings); err != nil {
		return err
	}
	if s.onReady != nil {
		s.onReady(s.PublicURL)
	}
	return listen.Serve(ctx, s.drained(ctx, log), listener, descriptors.Connections(),
		s.handler(st, host, svc, gate, descriptors.Transfers(), log), log)
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
	partial, _ := fs.Glob(os.DirFS(s.Data), ".restore.*.partial") // the pattern is valid
	if _, err := os.Stat(filepath.Join(s.Data, sqldb.SQLiteFileName)); len(partial) > 0 &&
		errors.Is(err, fs.ErrNotExist) {
		return nil, loci.Errorf(loci.CodeConflict, "a restore into %s runs, or was cut off: run it again, or delete "+
			"%s there to begin with an empty database", s.Data, partial[0])
	}
	w, err := ensurePrivateDir(s.Data)
	if w != "" {
		warnings = append(warnings, w)
	}
	return warnings, err
}

// lockFile is in the data folder of a running server.
const lockFile = "serve.lock"

// lock makes sure that only one server uses a data folder.
func (s Settings) lock() (unlock func(), err error) {
	if s.DB != "" {
		return func() {}, nil
	}
	l := flock.New(filepath.Join(s.Data, lockFile))
	ok, err := l.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("another server runs in %s: stop it first, or choose another --data", s.Data)
	}
	return func() { l.Unlock() }, err
}

func (s Settings) handler(st *store.Store, host *op.Host, svc *service.Service, gate *auth.Gate, transfers int,
	log *slog.Logger) http.Handler {
	table, omitted := service.Ops.Variant(service.Variants[s.Contract])
	hosts := httpapi.NewAllowedHosts(s.PublicURL, s.TrustedProxies)
	site := httpapi.Site{PublicURL: s.PublicURL, PublicURLInferred: s.inferredURL, TrustedProxies: s.TrustedProxies,
		Origins: httpapi.NewOrigins(s.PublicURL, s.Origins...)}
	authorization := oauth.New(oauth.Options{Store: st, PublicURL: s.PublicURL, Clock: s.clock(), Host: host,
		TrustedProxies: s.TrustedProxies, NetworkLimit: s.SignInLimit, ClientDocuments: s.OAuthCIMD,
		DocumentAccess: s.documentAccess})
	responses, bodies := httpapi.NewResponseLimiter(), httpapi.NewBodyLimiter()
	mcpServer := mcp.New(mcp.Options{
		Table: table, Caller: host, Version: Version, Toolset: s.Toolset, Origins: site.Origins,
		AllowQueryKey: s.QueryKey, Hosts: hosts, TrustedProxies: s.TrustedProxies, ResponseLimiter: responses,
		BodyLimiter: bodies, Closing: host.Closing,
		ResourceMetadataURL: s.PublicURL + "/.well-known/oauth-protected-resource/mcp",
		Authenticate: func(ctx context.Context, c *op.Call) error {
			actor, err := gate.Admit(ctx, nil, c)
			if err == nil {
				c.UserID = actor.UserID
			}
			return err
		},
		Identify: gate.Identify,
	})
	return rest.New(rest.Options{
		ServiceVersion: Version,
		Table:          table, Host: host, Log: log, Site: site,
		ExtraRoutes: slices.Concat(web.Routes(web.Options{Table: table, Host: host, Service: svc, Site: site,
			Authorizer: authorization, Mail: s.Mail != nil}), authorization.Routes(), mcpServer.Routes(),
			files.Routes(files.Options{Service: svc, Log: log, Prefixes: rest.FilePrefixes, MaxTransfers: transfers})),
		OmittedOps: omitted, Deprecations: s.deprecations,
		ResponseLimiter: responses, BodyLimiter: bodies, Hosts: s.restHosts(hosts),
	})
}

// restHosts returns the hosts that REST accepts. A server on a network accepts
// any name; a server on a loopback address accepts only its own.
func (s Settings) restHosts(own *httpapi.AllowedHosts) *httpapi.AllowedHosts {
	if !httpapi.IsLoopback(s.Listen) {
		return nil
	}
	return own
}
