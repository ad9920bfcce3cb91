// Package doctor examines a server and all that it depends on, for its operator. It works beside a running server and
// without one. It deletes what it writes, and sends no mail.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/server"
)

// A State is the result of a check.
type State string

// The results of checks. A warning needs a look, a failure a cure.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "fail"
)

// A Check is one part that was examined.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitzero"` // what to do, unless the state is ok
}

// A Report has the results of all checks.
type Report struct {
	OK      bool    `json:"ok"` // nothing failed
	Version string  `json:"version"`
	Target  string  `json:"target"`
	Checks  []Check `json:"checks"`
}

// String returns the report as a table for people.
func (r *Report) String() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s"+format+"\n", append([]any{name}, args...)...)
	}
	row("version", "%s", r.Version)
	row("target", "%s", r.Target)
	for _, c := range r.Checks {
		row(c.Name, "%s: %s", c.State, c.Detail)
		if c.Cure != "" {
			row("", "-> %s", c.Cure)
		}
	}
	return b.String()
}

// An examination is a run of all checks.
type examination struct {
	server.Settings
	report    *Report
	admin     *server.Admin // nil: the database cannot be opened
	client    *http.Client
	freeBytes func(path string) int64

	running bool               // the server answers
	metrics map[string]float64 // of the running server; nil: unknown
	skew    *time.Duration     // how far this clock is ahead of another one; nil: unknown
}

// requestTimeout bounds each request of an examination.
const requestTimeout = 10 * time.Second

// Run examines the server of some settings.
func Run(ctx context.Context, s server.Settings) *Report { return run(ctx, s, disk.FreeBytes) }

func run(ctx context.Context, s server.Settings, freeBytes func(path string) int64) *Report {
	x := &examination{Settings: s, report: &Report{OK: true, Version: server.Version, Target: target(s)},
		client: &http.Client{Timeout: requestTimeout}, freeBytes: freeBytes}
	defer x.client.CloseIdleConnections()
	x.checkDatabase(ctx)
	x.checkDisk()
	if x.admin != nil {
		defer x.admin.Close()
		x.checkFiles(ctx)
	}
	x.checkBackup()
	x.checkSecrets()
	x.checkServer(ctx)
	x.checkPublicURL(ctx) // shows a proxy that is not trusted
	x.readMetrics(ctx)
	x.checkClock()
	x.checkMail(ctx)
	x.checkDescriptors()
	x.checkProxies()
	return x.report
}

// target names the database, without user and password.
func target(s server.Settings) string {
	if s.DB == "" {
		return "SQLite in " + s.Data
	}
	u, err := url.Parse(s.DB)
	if err != nil {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + u.Host + u.Path
}

func (x *examination) add(name string, state State, detail, cure string) {
	x.report.Checks = append(x.report.Checks, Check{name, state, detail, cure})
	x.report.OK = x.report.OK && state != Fail
}

func (x *examination) ok(name, format string, args ...any) {
	x.add(name, OK, fmt.Sprintf(format, args...), "")
}

// errorText returns an error as one line.
func errorText(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*loci.Error](err); ok {
		if text = e.Message; e.Err != nil && e.Code == loci.CodeUnavailable {
			text = e.Err.Error() // the message is for callers
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
