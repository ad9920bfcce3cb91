package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
)

// Serve runs a server until ctx ends. What people are to read goes to console,
// the log to the other writer.
func Serve(ctx context.Context, s Settings, console, logs io.Writer) error {
	log, flush := NewLog(logs, s.LogLevel)
	defer flush()
	files, err := s.fileBudget(openFiles())
	if err != nil {
		return err
	}
	warnings, err := s.folder()
	if err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	model, former, err := s.embedder()
	if err != nil {
		return err
	}
	st, err := s.openStore(ctx, store.Options{Log: log, Embedder: model})
	if err != nil {
		return err
	}
	defer st.Close()
	listener, err := listen(s.Listen)
	if err != nil {
		return explainListen(ctx, err, s.Listen, "listen")
	}
	defer listener.Close()
	urls := []string{s.PublicURL}
	if s.PublicURL == "" {
		urls = reachable(listener.Addr())
	}
	s.guessedURL = s.PublicURL == ""
	s.PublicURL = urls[0]
	if !encrypted(s.PublicURL) {
		warnings = append(warnings, plainHTTP)
	}
	if w := files.warning(); w != "" {
		warnings = append(warnings, w)
	}
	gate := auth.NewGate(st, auth.Options{Plan: s.Plan, Rate: s.RateLimit, Burst: s.RateBurst, Free: service.AccountStatus.Name, Clock: s.clock(), Log: log, Shared: s.DB != ""})
	defer gate.Close()
	work := service.New(service.Options{Store: st, Embedder: model, Former: former, Plan: s.Plan, Clock: s.clock(), Registration: s.Registration, SigninLimit: s.SigninLimit, PublicURL: s.PublicURL, Used: gate.Used, Without: s.without, EmbedLimit: s.embedLimit})
	ready := &readiness{check: st.Check, damage: seenDamage, log: log}
	context.AfterFunc(ctx, func() { ready.draining.Store(true) })
	m := newMetrics(st, ready)
	host := &op.Host{Service: work, Admit: gate.Admit, Charge: gate.Charge, Log: log, Seen: m.seen}
	stopMetrics, err := m.listen(s.MetricsListen, log)
	if err != nil {
		return fmt.Errorf("metrics: %w", explainListen(ctx, err, s.MetricsListen, "metrics-listen"))
	}
	defer stopMetrics()
	defer m.watch()()
	for _, w := range warnings {
		log.Warn(w)
	}
	if err := greet(ctx, console, work, listener, urls, warnings); err != nil {
		return err
	}
	working, end := context.WithCancel(ctx)
	jobs := startJobs(working, st, log)
	defer jobs.Wait()
	defer end() // before the wait: the server may end by itself
	if s.ready != nil {
		s.ready(s.PublicURL)
	}
	return run(ctx, listener, files.connections(), s.handler(host, work, gate, log), log)
}

// folder makes the data folder, and returns what the operator should mend.
func (s Settings) folder() (warnings []string, err error) {
	if s.DB != "" {
		return nil, nil
	}
	w, err := privateFolder(s.Data)
	if w != "" {
		warnings = append(warnings, w)
	}
	return warnings, err
}

// lockFile is in the data folder of a server that runs.
const lockFile = "serve.lock"

// lock makes sure that one server alone works in a data folder.
func (s Settings) lock() (unlock func(), err error) {
	if s.DB != "" {
		return func() {}, nil
	}
	l := flock.New(filepath.Join(s.Data, lockFile))
	ok, err := l.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("another server works in %s: stop it first, or choose another --data", s.Data)
	}
	return func() { l.Unlock() }, err
}

func (s Settings) handler(host *op.Host, work *service.Service, gate *auth.Gate, log *slog.Logger) http.Handler {
	table, absent := service.Ops.Without(service.Lacking[s.Contract])
	hosts := httpapi.NewHosts(s.PublicURL, s.TrustedProxies)
	flow := httpapi.NewFlow()
	door := mcp.New(mcp.Options{
		Table: table, Caller: host, Version: Version, Toolset: s.Toolset, PublicURL: s.PublicURL, Origins: s.Origins, QueryKey: s.QueryKey, Hosts: hosts, TrustedProxies: s.TrustedProxies, Flow: flow,
		Authenticate: func(ctx context.Context, c *op.Call) error {
			who, err := gate.Admit(ctx, nil, c)
			if err == nil {
				c.UserID = who.UserID
			}
			return err
		},
	})
	return rest.New(rest.Options{
		ServiceVersion: Version,
		Table:          table, Host: host, Log: log, PublicURL: s.PublicURL, Origins: s.Origins, Guessed: s.guessedURL, Pages: work, TrustedProxies: s.TrustedProxies,
		Extra:  []rest.Route{{Pattern: "/mcp", Handler: door.HTTP(), Reason: "it speaks another protocol, in which operations are tools"}},
		Absent: absent, Flow: flow, Hosts: s.restHosts(hosts),
	})
}

// restHosts returns the hosts that REST answers to: any name reaches a server
// that listens on a network, but no foreign one a server on a loopback address.
func (s Settings) restHosts(own *httpapi.Hosts) *httpapi.Hosts {
	if !httpapi.Loopback(s.Listen) {
		return nil
	}
	return own
}
