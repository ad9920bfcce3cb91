package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/hook"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	// an unknown command or flag, a wrong number of arguments, a missing flag, or a value of another type
	exitUsage = 2
	// a person interrupted the command, as shells say it
	exitInterrupted = 130
)

// A program is one run of loci.
type program struct {
	console.Console
	keyring *profile.Keyring // nil where the system has no keyring
	deps

	local, plainHTTP bool   // the flags of every command
	server           string // --server

	started       bool // the command line was parsed, and its command runs
	requestID     string
	currentTarget target // the target of the command
	worksHere     bool   // the command works on this device too
	asksJSON      bool   // --json was given, though an error may precede its parsing
	contentOnly   bool   // the text of the record is printed alone
	asks          bool   // a person confirms the call first
	// inFlags returns a message with the flags of the command in place of fields.
	inFlags   func(message string) string
	helpError error // an unknown word in a request for help
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
	p := &program{Console: console.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()},
		deps: defaultDeps}
	p.keyring = profile.SystemKeyring(p.Env)
	return p.run(ctx, args)
}

func (p *program) run(ctx context.Context, args []string) int {
	p.table, _ = p.table.Variant(service.Variants[p.Env(contractEnv)])
	root := p.root()
	root.SetArgs(args)
	p.asksJSON = slices.Contains(args, "--json")
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = p.helpError
	}
	if err != nil {
		return p.reportError(cmd, err)
	}
	return exitOK
}

// deps are the dependencies of the commands.
type deps struct {
	table     *op.Table
	openLocal func(ctx context.Context, dir string, oneShot bool) (op.Caller, func() error, error)
	browse    func(c *console.Console, address string) error // opens the browser
	// signInTimeout is the time that a person has in the browser.
	signInTimeout time.Duration
	// hookTime bounds the calls of a hook.
	hookTime time.Duration
}

var defaultDeps = deps{table: service.Ops, browse: (*console.Console).Browse, signInTimeout: 10 * time.Minute,
	hookTime: hook.CallTime, openLocal: openLocal}

func openLocal(ctx context.Context, dir string, oneShot bool) (op.Caller, func() error, error) {
	l, err := server.OpenLocal(ctx, dir, oneShot)
	if err != nil {
		return nil, nil, err
	}
	return device{l.Host, l}, l.Close, nil
}
