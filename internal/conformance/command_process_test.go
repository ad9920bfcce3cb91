package conformance_test

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/testenv"
)

// commandEnv turns the test binary into the program loci. With the value manyCommands it runs commands in sequence,
// since to start a process costs more than most commands.
const (
	commandEnv   = "LOCI_PROOF_COMMAND"
	manyCommands = "many"
)

func TestMain(m *testing.M) {
	switch os.Getenv(commandEnv) {
	case "":
		code := m.Run()
		stopCommands()
		os.Exit(code)
	case manyCommands:
		serveCommands()
	default:
		os.Exit(cli.Main(os.Args[1:]))
	}
}

// A command is one run of the program.
type command struct {
	Args, Env []string
	Stdin     string
}

// A commandResult is what a command wrote, and its exit code.
type commandResult struct {
	Stdout, Stderr []byte
	Code           int
}

// serveCommands reads commands from the standard input, and writes their results.
func serveCommands() {
	commands, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c command
		if err := commands.Decode(&c); err != nil {
			return
		}
		if err := results.Encode(c.run()); err != nil {
			panic(err)
		}
	}
}

// run runs a command in this process, with its own environment and standard files.
func (c command) run() (r commandResult) {
	os.Clearenv()
	for i := 0; i < len(c.Env); i += 2 {
		if err := os.Setenv(c.Env[i], c.Env[i+1]); err != nil {
			panic(err)
		}
	}
	in, stdin := openPipe()
	stdout, out := openPipe()
	stderr, errs := openPipe()
	go func() {
		_, _ = io.WriteString(stdin, c.Stdin) // the command may read less
		stdin.Close()
	}()
	read := func(f *os.File, to *[]byte) chan error {
		done := make(chan error, 1)
		go func() {
			var err error
			*to, err = io.ReadAll(f)
			done <- err
			f.Close()
		}()
		return done
	}
	readOut, readErr := read(stdout, &r.Stdout), read(stderr, &r.Stderr)
	os.Stdin, os.Stdout, os.Stderr = in, out, errs
	r.Code = cli.Main(c.Args)
	for _, f := range []*os.File{in, out, errs} {
		f.Close()
	}
	if err := <-readOut; err != nil {
		panic(err)
	}
	if err := <-readErr; err != nil {
		panic(err)
	}
	return r
}

func openPipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	return r, w
}

// A commandProcess is a process that runs commands in sequence.
type commandProcess struct {
	stop     func() error
	commands *json.Encoder
	results  *json.Decoder
}

// idleCommands has the processes that run no command.
var idleCommands = make(chan *commandProcess, 100)

// runCommand runs a command in a process.
func runCommand(t testing.TB, c command) (r commandResult) {
	t.Helper()
	var p *commandProcess
	select {
	case p = <-idleCommands:
	default:
		p = startCommands(t)
	}
	testenv.NoError(t, p.commands.Encode(c))
	if err := p.results.Decode(&r); err != nil {
		t.Fatalf("loci %q: %v", c.Args, err)
	}
	idleCommands <- p
	return r
}

func startCommands(t testing.TB) *commandProcess {
	t.Helper()
	cmd := exec.Command(testenv.Must(os.Executable())(t))
	cmd.Env, cmd.Stderr = []string{commandEnv + "=" + manyCommands}, os.Stderr
	in, out := testenv.Must(cmd.StdinPipe())(t), testenv.Must(cmd.StdoutPipe())(t)
	testenv.NoError(t, cmd.Start())
	stop := func() error { return cmp.Or(in.Close(), cmd.Wait()) }
	return &commandProcess{stop, json.NewEncoder(in), json.NewDecoder(out)}
}

// stopCommands ends the idle processes.
func stopCommands() {
	for len(idleCommands) > 0 {
		if err := (<-idleCommands).stop(); err != nil {
			panic(err)
		}
	}
}

// textOf runs a command of ann for people, and returns its output.
func (h *testServer) textOf(line ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), testenv.Must(os.Executable())(h.t), line...)
	home := h.t.TempDir()
	cmd.Env = []string{commandEnv + "=1", "LOCI_URL=" + h.url, "LOCI_API_KEY=" + h.Ann.Key, "HOME=" + home,
		"XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home}
	return string(testenv.Must(cmd.Output())(h.t))
}

// tail returns the end of an id that tables show.
func tail(id loci.ID) string { return string(id[len(id)-8:]) }

// Commands name authors and inviters beside their ids, and people of the same name are told apart.
func TestCommandsNamePeople(t *testing.T) {
	t.Parallel()
	h := newTestServer(t, conformance.New(t, conformance.OpenSQLite, conformance.Options{}))
	ctx, atlas, evidence := t.Context(), h.Atlas(t, "Shelf"), loci.Evidence("the harbour master")
	for _, p := range []*conformance.Person{h.Ann, h.Bob, h.Cid} {
		testenv.Must(h.Service.CreateMemory(ctx, p.Actor(), loci.CreateMemory{AtlasID: atlas,
			Content: loci.Content("The harbour is open, says " + p.Name)}))(t)
	}
	testenv.Must(h.Service.UpdateAccount(ctx, h.Bob.Actor(), loci.UpdateAccount{Name: "cid"}))(t)
	id := h.Memory(t, atlas, "The harbour is closed.")
	testenv.Must(h.Service.VerifyMemory(ctx, h.Bob.Actor(), loci.VerifyMemory{MemoryID: id,
		Evidence: &evidence}))(t)
	h.Invite(t, h.Team, h.Ann, h.Eve, loci.RoleMember)
	private := testenv.Must(h.Service.CreateMemory(ctx, h.Ann.Actor(), loci.CreateMemory{Content: "alone"}))(t)
	for _, c := range []struct {
		line []string
		want []string
		not  string
	}{
		{[]string{"memory", "list", "--workspace-id", string(h.Team)},
			[]string{"AUTHOR", "  ann  ", "  cid (" + tail(h.Bob.ID) + ")  ",
				"  cid (" + tail(h.Cid.ID) + ")  "}, ""},
		{[]string{"memory", "search", "harbour"}, []string{"AUTHOR", "  ann  "}, ""},
		{[]string{"memory", "get", string(id)}, []string{"created-by     ann (" + string(h.Ann.ID) + ")\n",
			"verified-by    cid (" + string(h.Bob.ID) + ")\n"}, ""},
		{[]string{"memory", "versions", string(id)}, []string{"AUTHOR", "  cid  ", "  ann  "}, ""},
		{[]string{"invitation", "list", string(h.Team)}, []string{"INVITER", "  ann  "}, ""},
		{[]string{"memory", "list", "--workspace-id", string(private.Memory.WorkspaceID)}, []string{"alone"}, "AUTHOR"},
	} {
		text := h.textOf(c.line...)
		for _, want := range c.want {
			testenv.Contains(t, text, want, c.line)
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%v prints %s:\n%s", c.line, c.not, text)
		}
	}
	testenv.Must(h.Service.DeleteUser(ctx, loci.Email(h.Bob.Email), false))(t)
	testenv.Contains(t, h.textOf("memory", "list", "--workspace-id", string(h.Team)), "  "+tail(h.Bob.ID)+"  ",
		"the author who left has no id")
}
