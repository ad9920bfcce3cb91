//go:build unix

package relay

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci/internal/testenv"
)

// programEnv makes the test binary play a program.
const programEnv = "LOCI_RELAY_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programEnv); name != "" {
		os.Exit(programs[name](os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// programs are the programs that the tests run.
var programs = map[string]func(args []string) int{
	// echo returns its input.
	"echo": func([]string) int {
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			return 1
		}
		return 0
	},
	// hash prints the hash of its input, at its end.
	"hash": func([]string) int {
		h := sha256.New()
		n, _ := io.Copy(h, os.Stdin)
		fmt.Printf("%d %x", n, h.Sum(nil))
		return 0
	},
	// pour writes pseudorandom bytes: SEED COUNT.
	"pour": func(args []string) int {
		_, err := io.Copy(os.Stdout, stream(args[0], args[1]))
		return map[bool]int{true: 0, false: 1}[err == nil]
	},
	"exit": func(args []string) int { code, _ := strconv.Atoi(args[0]); return code },
	"die": func([]string) int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	},
	// await exits with 10 plus the number of the first signal. It reports its start.
	"await": func([]string) int {
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		return 10 + int((<-got).(syscall.Signal))
	},
	// deaf closes its input, and waits for SIGTERM.
	"deaf": func([]string) int {
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGTERM)
		_ = os.Stdin.Close()
		fmt.Println("ready")
		<-got
		return 3
	},
	// mute closes its output, and exits with the number of bytes that it reads afterwards.
	"mute": func([]string) int {
		_ = os.Stdout.Close()
		n, _ := io.Copy(io.Discard, os.Stdin)
		return int(n)
	},
	// orphan leaves a process behind that has its output open.
	"orphan": func([]string) int {
		c := exec.Command(os.Args[0])
		c.Env, c.Stdout = append(os.Environ(), programEnv+"=sleep"), os.Stdout
		if c.Start() != nil {
			return 1
		}
		fmt.Println("bye", c.Process.Pid)
		return 0
	},
	"sleep": func([]string) int { time.Sleep(time.Hour); return 0 },
	// relay relays another program: NAME ARGS.
	"relay": func(args []string) int {
		r := &Relay{Args: append([]string{os.Args[0]}, args[1:]...), In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
			Environ: append(os.Environ(), programEnv+"="+args[0]), Tap: NewTap(ignore{})}
		code, err := r.Run()
		if err != nil {
			return 99
		}
		return code
	},
}

type ignore struct{}

func (ignore) FromClient([]byte) {}
func (ignore) FromAgent([]byte)  {}
func (ignore) Lost()             {}

// stream returns reproducible bytes with lines of very different lengths.
func stream(seed, count string) io.Reader {
	s, _ := strconv.ParseUint(seed, 10, 64)
	n, _ := strconv.ParseInt(count, 10, 64)
	return io.LimitReader(rand.NewChaCha8([32]byte{byte(s), byte(s >> 8)}), n)
}

// command returns a command of a program of the tests.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), programEnv+"="+name)
	return c
}

// relayed returns the same command behind a relay.
func relayed(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	return command(t, "relay", append([]string{name}, args...)...)
}

// started starts a command, and returns its output.
func started(t *testing.T, c *exec.Cmd) io.ReadCloser {
	t.Helper()
	out := testenv.Must(c.StdoutPipe())(t)
	testenv.NoError(t, c.Start())
	return out
}

func code(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return map[bool]int{true: 0, false: -1}[err == nil]
}

func TestRelayCopiesBytesUnchanged(t *testing.T) {
	t.Parallel()
	random, _ := io.ReadAll(stream("1", "5000000"))
	for name, text := range map[string][]byte{
		"empty":        {},
		"no newline":   []byte(`{"jsonrpc":"2.0"}`),
		"newlines":     []byte("\n\n\r\n{}\r\n"),
		"invalid JSON": []byte("{\"method\":\"session/prompt\n[[[[\x00\xff\xfe\n"),
		"random bytes": random,
		"huge line":    append(bytes.Repeat([]byte(`{"a":"`), 4<<20), '\n'),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := relayed(t, "echo")
			c.Stdin = bytes.NewReader(text)
			if got, err := c.Output(); err != nil || sha256.Sum256(got) != sha256.Sum256(text) {
				t.Errorf("%d bytes of %d: %v", len(got), len(text), err)
			}
			c = relayed(t, "hash")
			c.Stdin = bytes.NewReader(text)
			want := fmt.Sprintf("%d %x", len(text), sha256.Sum256(text))
			testenv.Equal(t, string(testenv.Must(c.Output())(t)), want, "the program read")
		})
	}
}

// TestRelayDeliversToSlowReaders lets the program end long before its output is read.
func TestRelayDeliversToSlowReaders(t *testing.T) {
	t.Parallel()
	c := relayed(t, "pour", "7", "200000")
	out := started(t, c)
	h, want := sha256.New(), sha256.New()
	_, _ = io.Copy(want, stream("7", "200000"))
	for range 4 {
		time.Sleep(drainTime)
		_, _ = io.CopyN(h, out, 30_000)
	}
	_, _ = io.Copy(h, out)
	if err := c.Wait(); err != nil || !bytes.Equal(h.Sum(nil), want.Sum(nil)) {
		t.Errorf("another output: %v", err)
	}
}

func TestRelayReturnsExitCode(t *testing.T) {
	t.Parallel()
	for _, want := range []int{0, 1, 7, 255} {
		testenv.Equal(t, code(relayed(t, "exit", strconv.Itoa(want)).Run()), want, "code")
	}
	testenv.Equal(t, code(relayed(t, "die").Run()), 128+int(syscall.SIGKILL), "code")
}

func TestRelayForwardsSignals(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c := relayed(t, "await")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
		out := started(t, c)
		testenv.RequireEqual(t, testenv.Must(bufio.NewReader(out).ReadString('\n'))(t), "ready\n")
		if signal.Ignored(s) {
			_ = c.Process.Kill()
			_ = c.Wait()
			continue
		}
		testenv.NoError(t, c.Process.Signal(s))
		testenv.Equal(t, code(c.Wait()), 10+int(s), "code", s)
	}
}

func TestRelayPassesOnClosedStreams(t *testing.T) {
	t.Parallel()
	c := relayed(t, "mute")
	in := testenv.Must(c.StdinPipe())(t)
	out := started(t, c)
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil { // it ends while the program runs
		t.Errorf("%q: %v", rest, err)
	}
	_, _ = io.WriteString(in, "12345")
	_ = in.Close()
	testenv.Equal(t, code(c.Wait()), 5, "code")
}

func TestRelayFailsWritesToProgramThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c := relayed(t, "deaf")
	in := testenv.Must(c.StdinPipe())(t)
	out := started(t, c)
	testenv.RequireEqual(t, testenv.Must(bufio.NewReader(out).ReadString('\n'))(t), "ready\n")
	for err := error(nil); err == nil; {
		_, err = in.Write(make([]byte, 1<<20))
	}
	testenv.NoError(t, c.Process.Signal(syscall.SIGTERM))
	testenv.Equal(t, code(c.Wait()), 3, "code")
}

// TestRelayEndsProgramWhoseReaderIsGone closes the output, as an editor that was killed.
func TestRelayEndsProgramWhoseReaderIsGone(t *testing.T) {
	t.Parallel()
	c := relayed(t, "pour", "1", "1000000000")
	out := started(t, c)
	_, _ = io.CopyN(io.Discard, out, 100)
	_ = out.Close()
	if got := code(c.Wait()); got == 0 || got == 99 {
		t.Errorf("code %d", got)
	}
}

func TestRelayEndsThoughProcessKeepsPipeOpen(t *testing.T) {
	t.Parallel()
	out, err := relayed(t, "orphan").Output()
	var pid int
	if n, _ := fmt.Sscanf(string(out), "bye %d", &pid); n == 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil || pid == 0 {
		t.Errorf("%q: %v", out, err)
	}
}

func TestRelayReportsProgramThatCannotStart(t *testing.T) {
	t.Parallel()
	r := &Relay{Args: []string{"no-such-program-1"}, In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	if _, err := r.Run(); err == nil || !strings.Contains(err.Error(), "no-such-program-1") {
		t.Error(err)
	}
}

// A recorder keeps what it observes. It waits for open before it reads.
type recorder struct {
	open           chan struct{}
	client, agent  bytes.Buffer
	lost           int
	firstDirection direction
	faulty         bool
}

func newRecorder() *recorder { return &recorder{open: make(chan struct{}), firstDirection: -1} }

func (r *recorder) read(b *bytes.Buffer, d direction, data []byte) {
	<-r.open
	if r.faulty {
		panic("a fault")
	}
	if r.firstDirection < 0 {
		r.firstDirection = d
	}
	b.Write(data)
}

func (r *recorder) FromClient(data []byte) { r.read(&r.client, fromClient, data) }
func (r *recorder) FromAgent(data []byte)  { r.read(&r.agent, fromAgent, data) }
func (r *recorder) Lost()                  { r.lost++ }

// run relays the text to a program that returns it. It returns the output, and a function that waits for the observer.
func run(t *testing.T, o Observer, text string) (output string, wait func()) {
	t.Helper()
	in, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(write, text)
		_ = write.Close()
	}()
	var out bytes.Buffer
	r := &Relay{Args: []string{os.Args[0]}, Environ: append(os.Environ(), programEnv+"=echo"), In: in, Out: &out,
		Err: io.Discard, Tap: NewTap(o)}
	t.Cleanup(func() { _ = in.Close() })
	testenv.RequireEqual(t, testenv.Must(r.Run())(t), 0)
	r.Tap.Close()
	return out.String(), func() { <-r.Tap.Done() }
}

func TestTapGetsBothDirectionsInTheirOrder(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	close(o.open)
	text := strings.Repeat("a line\n", 100_000)
	got, wait := run(t, o, text)
	testenv.Equal(t, got, text, len(got))
	wait()
	if o.client.String() != text || o.agent.String() != text || o.lost != 0 || o.firstDirection != fromClient {
		t.Errorf("client %d, agent %d, lost %d, first %d", o.client.Len(), o.agent.Len(), o.lost, o.firstDirection)
	}
}

// TestRelayNeverWaitsForObserver blocks the observer until the conversation has ended.
func TestRelayNeverWaitsForObserver(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	text := strings.Repeat("0123456789abcde\n", 3<<20) // three times the queue
	got, wait := run(t, o, text)
	testenv.Equal(t, got, text, len(got))
	close(o.open)
	wait()
	if o.lost == 0 || o.client.Len()+o.agent.Len() > 2*maxQueued {
		t.Errorf("%d losses, %d bytes", o.lost, o.client.Len()+o.agent.Len())
	}
}

func TestFaultOfObserverDoesNotEndConversation(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	o.faulty = true
	close(o.open)
	got, wait := run(t, o, "a\nb\n")
	testenv.Equal(t, got, "a\nb\n")
	wait()
}

func TestTapBoundsPieces(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	tap := NewTap(o)
	for range 1_000_000 {
		tap.offer(fromClient, []byte{'x'})
	}
	tap.mu.Lock()
	n := len(tap.queue)
	tap.mu.Unlock()
	if n > maxQueued/pieceCost+1 {
		t.Errorf("%d pieces", n)
	}
	close(o.open)
	tap.Close()
	<-tap.Done()
	tap.offer(fromClient, []byte("late"))
}
