// Package cli has the command line: one command for each operation of the table, and the few made by hand (serve, mcp,
// login, doctor, admin). A command runs on a target: a server, or the database on this device.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	// an unknown command or flag, a wrong number of arguments, a missing flag, or a value of another type
	exitUsage = 2
)

// A program is one run of loci.
type program struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	keyring  *secretStore // nil where the system has no keyring
	deps

	json, local, plainHTTP bool   // the flags of every command
	server                 string // --server

	started       bool // the command line was parsed, and its command runs
	stdinRead     bool // the standard input was used
	requestID     string
	currentTarget target            // the target of the command
	confirmPrompt string            // the question to a person before the call, without its subject
	names         map[string]string // of atlases, workspaces and memories by id, for tables
	etag          string            // of the shown record
	helpError     error             // an unknown word in a request for help
}

// Main runs the command line and returns the exit code. SIGINT, SIGTERM and SIGHUP cancel the command; a second signal
// ends the process at once. Under nohup SIGHUP stays ignored.
func Main(args []string) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(), deps: defaultDeps}
	p.keyring = systemKeyring(p.env)
	return p.run(ctx, args)
}

// env returns the value of a variable; the last definition counts.
func (p *program) env(name string) string {
	for _, line := range slices.Backward(p.environ) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = p.helpError
	}
	if err != nil {
		return p.reportError(err)
	}
	return exitOK
}
