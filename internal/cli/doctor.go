package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/embed"
)

// A check is one thing that the doctor looked at.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// A diagnosis is what the doctor found.
type diagnosis struct {
	OK      bool    `json:"ok"`
	Version string  `json:"version"`
	Target  string  `json:"target"` // "local" or the server's address
	Why     string  `json:"why"`
	Path    string  `json:"path,omitzero"` // of the folder on this device
	Checks  []check `json:"checks"`
}

func (d *diagnosis) add(name string, err error, detail string) bool {
	if err != nil {
		detail = clean(explain(err).Message, false)
	}
	d.Checks = append(d.Checks, check{name, err == nil, detail})
	d.OK = d.OK && err == nil
	return err == nil
}

func (p *program) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say where commands work, and whether they can",
		Long:  "Names the target of the commands and why it is that one, and looks whether it works.\nThe exit code is 1 if something is broken.",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := p.diagnose(cmd.Context())
			if err := p.tell(d); err != nil {
				return err
			}
			if !d.OK {
				return errBroken
			}
			return nil
		},
	}
}

func (p *program) diagnose(ctx context.Context) *diagnosis {
	d := &diagnosis{OK: true, Version: version().Version, Checks: []check{}}
	t, err := p.target()
	if d.Target, d.Why, d.Path = t.url, t.why, t.dir; t.url == "" {
		d.Target = "local"
	}
	if err != nil {
		if t.why != "" && t.why != keyAlone && t.url == "" {
			d.add("folder", err, "")
			return d
		}
		d.Target = "unknown"
		name := "login"
		if t.why == keyAlone {
			name = "key"
		}
		d.add(name, err, "")
		return d
	}
	if info, err := os.Stat(p.profilePath()); err == nil {
		if info.Mode().Perm()&0o077 != 0 {
			err = fmt.Errorf("others can read %s: chmod 600 it", p.profilePath())
		}
		d.add("login", err, p.profilePath())
	}
	if t.url == "" {
		p.examineLocal(ctx, d, t)
	} else {
		p.examineServer(ctx, d, t)
	}
	return d
}

// examineLocal looks at the database on this device.
func (p *program) examineLocal(ctx context.Context, d *diagnosis, t target) {
	err := private(t.dir)
	if err == nil {
		probe := filepath.Join(t.dir, fmt.Sprintf(".doctor-%d", os.Getpid()))
		err = errors.Join(os.WriteFile(probe, []byte("x"), 0o600), os.Remove(probe))
	}
	if !d.add("folder", err, "can be written") {
		return
	}
	_, end, err := p.openLocal(ctx, t.dir, true)
	if err == nil {
		err = end()
	}
	d.add("database", err, "opens")
	detail, err := examineModel(ctx, embed.NewMiniLM())
	d.add("embedder", err, detail)
}

// examineModel says which model gives texts their vectors, which kernels compute it, and
// how long a short text takes once it is loaded.
func examineModel(ctx context.Context, m *embed.MiniLM) (detail string, err error) {
	least := time.Hour
	for range 5 { // the first one loads the model
		began := time.Now()
		if _, err := m.Embed(ctx, []string{"Where did we write down how to restore a backup?"}); err != nil {
			return "", err
		}
		least = min(least, time.Since(began))
	}
	return fmt.Sprintf("%s with %s, %.1f ms for a short text", m.Generation(), m.Kernel(), least.Seconds()*1e3), nil
}

// maxSkew is how far a clock may be off before tokens and links that expire misbehave.
const maxSkew = 2 * time.Minute

// examineServer looks at a server: is it there, does it take the key, and do
// both clocks agree.
func (p *program) examineServer(ctx context.Context, d *diagnosis, t target) {
	c, err := t.client(client.WithPatience(1, 0))
	if !d.add("address", err, "can be used") {
		return
	}
	var answer http.Header
	_, err = c.Do(ctx, http.MethodGet, "/health", nil, nil, client.Answered(&answer))
	if !d.add("server", err, "answers") {
		return
	}
	if at, err := http.ParseTime(answer.Get("Date")); err == nil {
		skew := time.Since(at).Round(time.Second)
		if skew.Abs() > maxSkew {
			err = fmt.Errorf("this clock and the server's differ by %v", skew.Abs())
		}
		d.add("clock", err, "agrees with the server's")
	}
	if t.key == "" {
		d.add("key", loci.Fail(loci.MissingAPIKey, "There is no key for this server: use loci login, or set LOCI_API_KEY."), "")
		return
	}
	_, err = c.AccountMe(ctx)
	d.add("key", err, "is valid")
}

func (p *program) tell(d *diagnosis) error {
	if p.json {
		return p.print(d)
	}
	fmt.Fprintf(p.out, "version   %s\ntarget    %s (%s)\n", d.Version, d.Target, d.Why)
	if d.Path != "" {
		fmt.Fprintf(p.out, "path      %s\n", d.Path)
	}
	for _, c := range d.Checks {
		state := "ok"
		if !c.OK {
			state = "BROKEN"
		}
		if _, err := fmt.Fprintf(p.out, "%-9s %s: %s\n", c.Name, state, c.Detail); err != nil {
			return err
		}
	}
	return nil
}
