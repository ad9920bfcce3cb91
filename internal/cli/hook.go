package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/capture/spool"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/hook"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
)

func (p *program) hook() *cobra.Command { return hook.Command(p.hookOptions()) }

func (p *program) hookOptions() hook.Options {
	return hook.Options{Console: &p.Console, StateDir: p.stateDir(), Target: p.hookTarget, CallTime: p.hookTime}
}

// stateDir returns the folder for the spool and the log of hooks, or "" without a home folder.
func (p *program) stateDir() string {
	dir := server.XDGDir(p.Env, "XDG_STATE_HOME", ".local/state")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci")
}

// hookTarget returns the target of a hook. A local database that was never used is not made: its policy is off.
func (p *program) hookTarget() (*hook.Target, error) {
	t, login, err := p.locateTarget()
	if err != nil {
		return nil, err
	}
	if t.url != "" && t.key == "" && login == nil {
		return nil, loci.NewError(loci.CodeMissingAPIKey)
	}
	if t.url == "" {
		if _, err := os.Stat(t.dir); err != nil {
			return nil, nil
		}
		open := func(ctx context.Context) (op.Caller, error) {
			caller, _, err := p.openCaller(ctx, t, true) // it is closed by the end of the process
			return caller, err
		}
		return &hook.Target{Folder: t.spoolFolder(), Flags: p.targetFlags, Open: open, ByName: p.byName}, nil
	}
	var renewing sync.Mutex
	h := &hook.Target{Folder: t.spoolFolder(), Flags: p.targetFlags, AsAgent: login == nil || !login.ByBrowser(),
		ByName: p.byName}
	h.Wait = func() {
		renewing.Lock()
		defer renewing.Unlock()
	}
	h.Open = func(context.Context) (op.Caller, error) {
		if login != nil {
			if p.profile().WouldAsk(login) { // nobody sits before a hook
				return nil, loci.NewError(loci.CodeMissingAPIKey)
			}
			if err := t.useLogin(p.profile(), login); err != nil {
				return nil, err
			}
		}
		if t.tokens != nil {
			t.tokenSource = t.hookTokens(&renewing)
		}
		c, err := t.newClient(client.WithRetry(1, 0))
		return remote{c}, err
	}
	return h, nil
}

// byName returns a caller that takes names and parts of ids for ids.
func (p *program) byName(caller op.Caller) op.Caller {
	return records.Named{Reader: records.Reader{Caller: caller, Table: p.table}}
}

// hookTokens returns a source of access tokens for a process that ends soon. A sign-in whose renewal is cut off may be
// lost, so it is renewed only at a server that answers, and the process waits for the end of that.
func (t target) hookTokens(renewing *sync.Mutex) client.TokenSource {
	return func(ctx context.Context, rejected string) (string, error) {
		if rejected == "" && time.Until(t.tokens.ExpiresAt()) > 2*time.Minute {
			return t.tokens.Token(ctx, rejected)
		}
		health, err := target{url: t.url, plainHTTP: t.plainHTTP}.newClient(client.WithRetry(1, 0))
		if err == nil {
			_, err = health.Do(ctx, "GET", "/health", []byte("{}"))
		}
		if err != nil {
			return "", err
		}
		renewing.Lock()
		defer renewing.Unlock()
		if ctx.Err() != nil { // the process no longer waits
			return "", ctx.Err()
		}
		return t.tokens.Token(ctx, rejected)
	}
}

// spoolFolder names the spool of a target: one for each server and account.
func (t target) spoolFolder() string {
	if t.url == "" {
		return "local-" + shortHash(t.dir)
	}
	host := "server"
	if u, err := url.Parse(t.url); err == nil && u.Hostname() != "" {
		host = strings.Map(func(r rune) rune {
			if r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
				return r
			}
			return '_'
		}, u.Hostname())
	}
	return host[:min(len(host), 60)] + "-" + shortHash(strings.TrimRight(t.url, "/")+"\n"+t.account)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// checkSpool adds the events of agents that wait on this device, if hooks have ever run.
func (p *program) checkSpool(d *doctorReport, t target) {
	if p.stateDir() == "" {
		return
	}
	root := filepath.Join(p.stateDir(), "spool")
	folders, _ := os.ReadDir(root) // absent until a hook has run
	for _, f := range folders {
		dir := filepath.Join(root, f.Name())
		st, err := spool.ReadStatus(dir)
		if own := t.spoolFolder(); f.Name() == own || strings.HasPrefix(f.Name(), own+"-") { // of a workspace
			if err == nil {
				err = spoolFault(st, time.Now())
			}
			d.addCheck("spool", err, describeSpool(st))
		} else if err == nil && st.Waiting > 0 {
			d.addCheck("spool", nil, fmt.Sprintf("%s for another account or server: remove %s, or log in there again",
				format.Plural(st.Waiting, "event waits", "events wait"), dir))
		}
	}
}

// checkPolicies says of each workspace for which hooks have run whether automatic memory is on there.
func (p *program) checkPolicies(ctx context.Context, d *doctorReport, t target, caller op.Caller) {
	if p.table.Op(service.AutoGet.Name) == nil || p.stateDir() == "" {
		return
	}
	own := hook.Target{Folder: t.spoolFolder()}
	all, err := op.Do(ctx, caller, &op.Call{Transport: "command"}, service.WorkspaceList, loci.ListWorkspaces{})
	if err != nil {
		d.addCheck("policy", err, "")
		return
	}
	for _, w := range append([]loci.Workspace{{}}, all.Workspaces...) {
		_, err := os.Stat(filepath.Join(p.stateDir(), "spool", own.SpoolName(w.ID)))
		if _, named := os.Stat(filepath.Join(p.stateDir(), "spool", own.SpoolName(loci.ID(w.Name)))); err != nil &&
			named != nil {
			continue
		}
		in := loci.GetPolicy{WorkspaceID: w.ID}
		got, err := op.Do(ctx, caller, &op.Call{Transport: "command"}, service.AutoGet, in)
		d.addCheck("policy", err, describePolicy(w, got.Policy))
	}
}

// checkWaiting reports how many candidates wait for a review, if any do.
func (p *program) checkWaiting(ctx context.Context, d *doctorReport, caller op.Caller) {
	n, err := p.waitingCandidates(ctx, caller)
	if n > 0 || err != nil {
		d.addCheck("review", err, console.WaitingCandidates(n, p.targetFlags()))
	}
}

// waitingCandidates returns how many candidates wait for a review of the person, or none where the variant of the
// contract does not count them.
func (p *program) waitingCandidates(ctx context.Context, caller op.Caller) (int64, error) {
	if p.table.Op(service.AccountStatus.Name) == nil {
		return 0, nil
	}
	out, err := op.Do(ctx, caller, &op.Call{Transport: "command"}, service.AccountStatus, loci.Empty{})
	return out.Waiting.Candidates, err
}

// describePolicy describes the policy of a workspace, of the personal one if it has no id.
func describePolicy(w loci.Workspace, p loci.Policy) string {
	text, flag := "automatic memory", ""
	if w.ID != "" {
		text += fmt.Sprintf(" in the workspace %q", format.StripControl(w.Name, false))
		flag = " --workspace-id " + string(w.ID)
	}
	switch {
	case !p.Enabled:
		return text + " is off: loci auto set --enabled" + flag + " switches it on"
	case p.Paused:
		return text + " is paused: loci auto set --paused=false" + flag + " goes on"
	}
	return text + " is on, its mode is " + string(p.Mode)
}

const (
	// maxSpoolAge is how long events may wait before the delivery counts as broken.
	maxSpoolAge = time.Hour
	// lossAge is how long the loss of an event is reported.
	lossAge = 24 * time.Hour
)

// spoolFault returns an error for a spool that loses events or cannot deliver them.
func spoolFault(st spool.Status, now time.Time) error {
	switch {
	case now.Sub(st.LastLoss) < lossAge:
		return fmt.Errorf("events were lost at %s: %s", localTime(st.LastLoss), describeSpool(st))
	case st.LastError != nil && st.Waiting > 0 && now.Sub(st.Oldest) > maxSpoolAge:
		return fmt.Errorf("events are not delivered: %s", describeSpool(st))
	}
	return nil
}

func localTime(at time.Time) string { return at.Local().Format("2006-01-02 15:04") }

// describeSpool describes a spool in a line, without contents.
func describeSpool(st spool.Status) string {
	text := "no events wait"
	if st.Waiting > 0 {
		text = fmt.Sprintf("%s (%s), the oldest since %s", format.Plural(st.Waiting, "event waits", "events wait"),
			fmt.Sprintf("%d KiB", (st.Bytes+1023)>>10), localTime(st.Oldest))
	}
	if st.Dropped > 0 {
		text += fmt.Sprintf("; %d dropped, because more than 16 MiB waited", st.Dropped)
	}
	if st.Refused > 0 {
		text += fmt.Sprintf("; %d refused", st.Refused)
	}
	if st.LastError != nil {
		text += fmt.Sprintf("; last error %s at %s", st.LastError.Code, localTime(st.LastError.At))
	}
	return text
}
