package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/version"
	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// A checkResult is the result of one check.
type checkResult struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// A doctorReport holds the results of loci doctor.
type doctorReport struct {
	OK      bool          `json:"ok"`
	Version string        `json:"version"`
	Target  string        `json:"target"` // "local" or the server's address
	Reason  string        `json:"why"`
	Path    string        `json:"path,omitzero"`    // of the folder on this device
	Account string        `json:"account,omitzero"` // its address
	Checks  []checkResult `json:"checks"`
}

func (d *doctorReport) addCheck(name string, err error, detail string) bool {
	if err != nil {
		detail = format.StripControl(oneLineError(err).Message, false)
	}
	d.Checks = append(d.Checks, checkResult{name, err == nil, detail})
	d.OK = d.OK && err == nil
	return err == nil
}

func (p *program) doctor() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Example: "loci doctor",
		Short:   "Show the target of commands, and check it",
		Long: "Names the target of the commands and why it is that one, and checks it. Where the credential may " +
			"write, it writes a\nmemory, reads it back and deletes it. The exit code is 1 if something is broken.",
		Args: command.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := p.diagnose(cmd.Context())
			if err := p.printDoctorReport(d); err != nil {
				return err
			}
			if !d.OK {
				return command.ErrReported
			}
			return nil
		},
	}
}

func (p *program) diagnose(ctx context.Context) *doctorReport {
	d := &doctorReport{OK: true, Version: version.Get().Version, Checks: []checkResult{}}
	t, err := p.resolveTarget()
	if d.Target, d.Reason, d.Path = t.url, t.reason, t.dir; t.url == "" {
		d.Target = "local"
	}
	if err != nil {
		name := "login"
		switch {
		case t.reason == reasonKeyWithoutURL:
			name = "key"
		case t.reason == reasonUnknownContract:
			name = "contract"
		case t.reason != "" && t.url == "":
			d.addCheck("folder", err, "")
			return d
		}
		d.Target = "unknown"
		d.addCheck(name, err, "")
		return d
	}
	p.checkLogin(d)
	p.checkSpool(d, t)
	if t.url == "" {
		p.checkLocal(ctx, d, t)
	} else {
		p.checkServer(ctx, d, t)
	}
	return d
}

// checkLogin names the stored login and checks its file.
func (p *program) checkLogin(d *doctorReport) {
	path := p.profile().Path
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others can read %s: chmod 600 it", path)
	}
	login, _ := p.profile().Load() // resolveTarget reports a damaged one
	if login != nil {
		path += " (" + kindOf(login) + " for " + login.URL + ")"
	}
	d.addCheck("login", err, path)
}

// checkLocal checks the database on this device.
func (p *program) checkLocal(ctx context.Context, d *doctorReport, t target) {
	err := ensurePrivateDir(t.dir)
	if err == nil {
		probe := filepath.Join(t.dir, fmt.Sprintf(".doctor-%d", os.Getpid()))
		err = errors.Join(os.WriteFile(probe, []byte("x"), 0o600), os.Remove(probe))
	}
	if !d.addCheck("folder", err, "can be written") {
		return
	}
	caller, end, err := p.openLocal(ctx, t.dir, true)
	if err == nil {
		p.checkMemory(ctx, d, caller, true)
		p.checkPolicies(ctx, d, t, caller)
		p.checkWaiting(ctx, d, caller)
		err = end()
	}
	d.addCheck("database", err, "opens")
	detail, err := checkModel(ctx, embed.NewMiniLM())
	d.addCheck("embedder", err, detail)
}

// checkModel returns the embedding model, its kernels, and the time for a short text once the model is loaded.
func checkModel(ctx context.Context, m *embed.MiniLM) (detail string, err error) {
	least := time.Hour
	for range 5 { // the first call loads the model
		began := time.Now()
		if _, err := m.Embed(ctx, []string{"Where did we write down how to restore a backup?"}); err != nil {
			return "", err
		}
		least = min(least, time.Since(began))
	}
	return fmt.Sprintf("%s with %s, %.1f ms for a short text", m.Generation(), m.Kernel(), least.Seconds()*1e3), nil
}

// maxClockSkew is how far a clock may be off before tokens and links expire wrongly.
const maxClockSkew = 2 * time.Minute

// checkServer checks a server: its address, the key, and its clock.
func (p *program) checkServer(ctx context.Context, d *doctorReport, t target) {
	c, err := t.newClient(client.WithRetry(1, 0))
	var health *client.Client // has no credential: one that has ended must not hide the server's state
	if err == nil {
		health, err = target{url: t.url}.newClient(client.WithRetry(1, 0))
	}
	if !d.addCheck("address", err, "can be used") {
		return
	}
	var answer http.Header
	if !d.addCheck("server", checkIsLoci(ctx, health, client.WithResponseHeader(&answer)), "is a Loci server") {
		return
	}
	if at, err := http.ParseTime(answer.Get("Date")); err == nil {
		skew := time.Since(at).Round(time.Second)
		if skew.Abs() > maxClockSkew {
			err = fmt.Errorf("this clock and the server's differ by %v", skew.Abs())
		}
		d.addCheck("clock", err, "agrees with the server's")
	}
	if !t.hasCredential() {
		d.addCheck("key", loci.Errorf(loci.CodeMissingAPIKey,
			"There is no key for this server: use loci login %s, or set LOCI_API_KEY.", t.url), "")
		return
	}
	me, err := c.AccountMe(ctx)
	d.Account = me.User.Email
	if t.tokens == nil {
		d.addCheck("key", err, "is valid")
	} else {
		p.currentTarget = t
		if err != nil {
			err = loci.Errorf(loci.AsError(err).Code, "%s", p.errorText(oneLineError(err)))
		}
		reach := "the workspaces that you chose"
		if t.reachesAccount {
			reach = "everything that you may do"
		}
		d.addCheck("token", err, "is accepted until "+localTime(t.tokens.ExpiresAt())+", is refreshed by itself, and "+
			"reaches "+reach)
	}
	if err == nil {
		p.checkMemory(ctx, d, remote{c}, deletesMemories(ctx, health))
		p.checkService(ctx, d, remote{c})
		checkFiles(ctx, d, t, c)
		p.checkPolicies(ctx, d, t, remote{c})
		p.checkWaiting(ctx, d, remote{c})
	}
}

// checkIsLoci returns an error unless a Loci server answers. The client needs no credential: a stranger must get none.
func checkIsLoci(ctx context.Context, c *client.Client, o ...client.CallOption) error {
	raw, err := c.Do(ctx, http.MethodGet, "/health", []byte("{}"), o...)
	if err != nil {
		return err
	}
	if _, isLoci := httpapi.ParseHealth(raw); !isLoci {
		return loci.Errorf(loci.CodeUnavailable, "%s does not answer as a Loci server does: check the address", c.URL())
	}
	return nil
}

// canaryTimeout bounds the deletion of the memory that a check wrote, even after an interrupt.
const canaryTimeout = 10 * time.Second

// checkMemory writes a memory, reads it back and deletes it, where the credential may write and the target deletes.
func (p *program) checkMemory(ctx context.Context, d *doctorReport, caller op.Caller, deletes bool) {
	if !deletes || p.table.Op(service.MemoryDelete.Name) == nil {
		d.addCheck("memory", nil, "not tried: this variant of the contract deletes no memories")
		return
	}
	switch err := tryMemory(ctx, caller); loci.AsError(err).Code {
	case loci.CodeForbidden, loci.CodeInsufficientScope:
		d.addCheck("memory", nil, "not tried: this credential may only read")
	default:
		d.addCheck("memory", err, "was written, read back and deleted")
	}
}

// deletesMemories reports whether the document of a server has the deletion of memories, which a variant lacks.
func deletesMemories(ctx context.Context, c *client.Client) bool {
	raw, err := c.Do(ctx, http.MethodGet, "/openapi.json", []byte("{}"))
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err != nil || json.Unmarshal(raw, &document) != nil {
		return false
	}
	return document.Paths[service.MemoryDelete.Path][strings.ToLower(service.MemoryDelete.Method)] != nil
}

// tryMemory writes a memory, reads it back and deletes it.
func tryMemory(ctx context.Context, caller op.Caller) error {
	text := "loci doctor checks that memories are stored: " + string(loci.NewID(time.Now()))
	made, err := op.Do(ctx, caller, doctorCall(), service.MemoryCreate, loci.CreateMemory{Content: loci.Content(text)})
	if err != nil {
		return err
	}
	id := made.Memory.ID
	read, err := op.Do(ctx, caller, doctorCall(), service.MemoryGet, loci.GetMemory{MemoryID: id})
	if err == nil && read.Memory.Content != text {
		err = errors.New("the memory that was written is read back with another text")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), canaryTimeout)
	defer cancel()
	if _, e := op.Do(ctx, caller, doctorCall(), service.MemoryDelete, loci.DeleteMemory{MemoryID: id}); e != nil {
		return fmt.Errorf("the memory %s was written as a test, and cannot be deleted: %s", id, oneLineError(e).Message)
	}
	return err
}

func doctorCall() *op.Call { return &op.Call{Transport: "command"} }

// checkService shows what the server says of itself, and whether its embedder answers.
func (p *program) checkService(ctx context.Context, d *doctorReport, caller op.Caller) {
	if p.table.Op(service.AccountStatus.Name) == nil {
		return
	}
	out, err := op.Do(ctx, caller, doctorCall(), service.AccountStatus, loci.Empty{})
	if problems := out.Service.Problems; err == nil && len(problems) > 0 {
		err = errors.New(strings.Join(problems, "; "))
	} else if err == nil && problems != nil && !out.Service.Ready { // an older server has no such field
		err = errors.New("the server is not ready")
	}
	if !d.addCheck("service", err, "is ready") {
		return
	}
	in := loci.SearchMemories{Query: "loci doctor", Mode: loci.ModeSemantic, Paging: loci.Paging{Limit: 1}}
	found, err := op.Do(ctx, caller, doctorCall(), service.MemorySearch, in)
	if err == nil && found.Mode == loci.ResolvedKeywordFallback { // a model may be loading
		found, err = op.Do(ctx, caller, doctorCall(), service.MemorySearch, in)
	}
	if n := out.Indexing; err == nil && (found.Mode == loci.ResolvedKeywordFallback || n.Failed > 0) {
		err = fmt.Errorf("the embedder of the server does not answer in time, so words alone find memories (%d wait, "+
			"%d failed) %s", n.Pending, n.Failed, n.LastError)
	}
	d.addCheck("embedder", err, fmt.Sprintf("answers; %s for vectors",
		format.Plural(out.Indexing.Pending, "memory waits", "memories wait")))
}

// checkFiles asks for an upload to a memory that nobody has: a server whose file store answers does not find it. A
// login for some workspaces cannot ask.
func checkFiles(ctx context.Context, d *doctorReport, t target, c *client.Client) {
	if t.checkFiles() != nil {
		return
	}
	_, err := c.AttachmentUpload(ctx, loci.UploadAttachment{MemoryID: loci.NewID(time.Now()), FileName: "doctor",
		MIMEType: "text/plain"})
	switch loci.AsError(err).Code {
	case loci.CodeUnavailable, loci.CodeStorageFull:
		d.addCheck("files", err, "")
	case loci.CodeNotFound:
		d.addCheck("files", nil, "can be stored")
	}
}

func (p *program) printDoctorReport(d *doctorReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "version   %s\ntarget    %s (%s)\n", d.Version, d.Target, d.Reason)
	if d.Path != "" {
		fmt.Fprintf(&b, "path      %s\n", d.Path)
	}
	if d.Account != "" {
		fmt.Fprintf(&b, "account   %s\n", format.StripControl(d.Account, false))
	}
	for _, c := range d.Checks {
		state := "ok"
		if !c.OK {
			state = "BROKEN"
		}
		fmt.Fprintf(&b, "%-9s %s: %s\n", c.Name, state, c.Detail)
	}
	return p.PrintResult(d, b.String())
}
