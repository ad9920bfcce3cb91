package console

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/op"
)

// A Console has the streams and variables of a command.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string
	JSON     bool // the command prints JSON objects

	stdinRead bool
}

// Env returns the value of a variable; the last definition counts.
func (c *Console) Env(name string) string {
	for _, line := range slices.Backward(c.Environ) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

// errDeclined ends a command that the person declined.
var errDeclined = errors.New("nothing was done")

// IsInteractive reports whether a person can answer at a terminal.
func (c *Console) IsInteractive() bool {
	in, ok := c.In.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// RequireTerminal returns a usage error where a command must ask a question and nobody can answer.
func (c *Console) RequireTerminal(path string) error {
	if c.IsInteractive() {
		return nil
	}
	return command.UsageError(path + " asks first: answer on a terminal, or add --yes")
}

// Confirm asks at the terminal for confirmation of an irreversible operation.
func (c *Console) Confirm(ctx context.Context, what string) error {
	return c.Ask(ctx, what+"? This cannot be undone.")
}

// Ask asks a question at the terminal. Every answer but yes is an error.
func (c *Console) Ask(ctx context.Context, question string) error {
	line, err := c.Prompt(ctx, question+" [y/N] ")
	line = strings.ToLower(line)
	if err == io.EOF || err == nil && line != "y" && line != "yes" {
		err = errDeclined
	}
	return err
}

// Prompt reads a line from the terminal, without the space around it. The end of input without a line is io.EOF.
func (c *Console) Prompt(ctx context.Context, label string) (string, error) {
	fmt.Fprint(c.Err, label)
	line, err := contextio.Await(ctx, func() (string, error) {
		line, err := bufio.NewReader(c.In).ReadString('\n')
		if line != "" {
			err = nil
		}
		return strings.TrimSpace(line), err
	})
	if err != nil {
		fmt.Fprintln(c.Err)
	}
	return line, err
}

// PromptSecret reads a line from the terminal without showing it.
func (c *Console) PromptSecret(ctx context.Context, label string) (string, error) {
	terminal := int(c.In.(*os.File).Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	fmt.Fprint(c.Err, label)
	text, err := contextio.Await(ctx, func() ([]byte, error) { return term.ReadPassword(terminal) })
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(terminal, before))
	}
	fmt.Fprintln(c.Err)
	return string(text), err
}

// PrintMessage writes to the standard error, after the name of the program.
func (c *Console) PrintMessage(text string) {
	_, colour := c.Terminal(c.Err)
	const name = "loci:"
	_, _ = io.WriteString(c.Err, strings.Replace(c.fold(c.Err, name+" "+text), name, format.Bold(name, colour), 1))
}

// PrintNote writes to the standard error.
func (c *Console) PrintNote(text string) { _, _ = io.WriteString(c.Err, c.fold(c.Err, text)) }

// fold breaks the lines of a text that are longer than the terminal w.
func (c *Console) fold(w io.Writer, text string) string {
	width, _ := c.Terminal(w)
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if width > 0 && utf8.RuneCountInString(line) > width {
			line = strings.Join(format.Wrap(line, width), "\n")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// CloseSlowly closes something that may take long, and then prints why.
func (c *Console) CloseSlowly(end func() error, why string) error {
	printed := make(chan struct{})
	slow := time.AfterFunc(time.Second, func() {
		defer close(printed)
		c.PrintMessage(why)
	})
	err := end()
	if !slow.Stop() {
		<-printed
	}
	return err
}

// PrintJSON writes v as one line of JSON.
func (c *Console) PrintJSON(v any) error {
	b, err := op.Marshal(v)
	if err == nil {
		_, err = c.Out.Write(append(format.EscapeJSON(b), '\n'))
	}
	return err
}

// PrintResult writes v as an object with --json, and else a text for people.
func (c *Console) PrintResult(v any, text string) error {
	if c.JSON {
		return c.PrintObject(v, true)
	}
	_, err := io.WriteString(c.Out, c.fold(c.Out, text))
	return err
}

// PrintObject writes v as one line of JSON that begins with ok, which v may state itself.
func (c *Console) PrintObject(v any, ok bool) error {
	b, err := op.Marshal(v)
	if err != nil || bytes.HasPrefix(b, []byte(`{"ok":`)) {
		return cmp.Or(err, c.PrintJSON(v))
	}
	return c.PrintJSON(json.RawMessage(fmt.Sprintf(`{"ok":%t,%s`, ok, b[1:])))
}

// Terminal returns the width of the terminal w, 0 if it is none, and whether it supports colour.
func (c *Console) Terminal(w io.Writer) (width int, colour bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 {
		width = 80
	}
	return width, c.Env("NO_COLOR") == "" && c.Env("TERM") != "dumb"
}

// MaxStdin is more than any value may have. A longer text is cut, and its operation refuses it by its own limit.
const MaxStdin = 1<<20 + 1

// Stdin returns the standard input. A read ends with the context, though the system cannot interrupt it.
func (c *Console) Stdin(ctx context.Context) io.Reader { return stdin{ctx, c.In} }

type stdin struct {
	ctx context.Context
	in  io.Reader
}

// Read implements io.Reader.
func (s stdin) Read(p []byte) (int, error) {
	own := make([]byte, len(p)) // the read may run on
	n, err := contextio.Await(s.ctx, func() (int, error) { return s.in.Read(own) })
	return copy(p, own[:n]), err
}

// ReadStdin reads the standard input, at most once. At a terminal it says so.
func (c *Console) ReadStdin(ctx context.Context) (string, error) {
	if c.stdinRead {
		return "", command.UsageError("only one value can be -: the standard input is read once")
	}
	c.stdinRead = true
	if c.IsInteractive() {
		c.PrintMessage("reads text until Ctrl-D")
	}
	b, err := io.ReadAll(io.LimitReader(c.Stdin(ctx), MaxStdin))
	if err == nil && !utf8.Valid(b) {
		err = loci.Errorf(loci.CodeInvalidQuery, "the standard input is not valid UTF-8")
	}
	return string(b), err
}

// ReadLine reads the next line of the standard input, so that several secrets can be read from it.
func (c *Console) ReadLine(ctx context.Context) (string, error) {
	if c.IsInteractive() {
		c.PrintMessage("reads a line")
	}
	var line []byte
	in := c.Stdin(ctx)
	for one := make([]byte, 1); len(line) < MaxStdin; {
		n, err := in.Read(one)
		if n == 1 && one[0] != '\n' {
			line = append(line, one[0])
		} else if n == 1 || err == io.EOF && len(line) > 0 {
			return strings.TrimSuffix(string(line), "\r"), nil
		} else if err == io.EOF {
			return "", command.UsageError("the standard input has no more lines: each - takes one")
		}
		if err != nil && err != io.EOF {
			return "", err
		}
	}
	return "", loci.Errorf(loci.CodePayloadTooLarge, "a line of the standard input has more than 1 MiB: send less")
}
