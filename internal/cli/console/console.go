package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
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
	fmt.Fprint(c.Err, question+" [y/N] ")
	answer := make(chan string, 1)
	go func() { // the read cannot be interrupted, and ends with the process
		line, _ := bufio.NewReader(c.In).ReadString('\n') // the end of input counts as no
		answer <- line
	}()
	select {
	case line := <-answer:
		if line = strings.ToLower(strings.TrimSpace(line)); line != "y" && line != "yes" {
			return errDeclined
		}
		return nil
	case <-ctx.Done():
		fmt.Fprintln(c.Err)
		return ctx.Err()
	}
}

// PromptSecret reads a line from the terminal without showing it.
func (c *Console) PromptSecret(ctx context.Context, label string) (string, error) {
	terminal := int(c.In.(*os.File).Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	fmt.Fprint(c.Err, label)
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() { // the read cannot be interrupted, and ends with the process
		text, err := term.ReadPassword(terminal)
		read <- line{text, err}
	}()
	defer fmt.Fprintln(c.Err)
	select {
	case l := <-read:
		return string(l.text), l.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(terminal, before))
	}
}

// PrintMessage writes to the standard error.
func (c *Console) PrintMessage(text string) {
	_, colour := c.Terminal(c.Err)
	_, _ = fmt.Fprintln(c.Err, format.Bold("loci:", colour), text)
}

// PrintJSON writes v as one line of JSON.
func (c *Console) PrintJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := c.Out.Write(format.EscapeJSON(b.Bytes()))
	return err
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

// maxStdin is more than any input needs.
const maxStdin = 1 << 20

// ReadStdin reads the standard input, at most once.
func (c *Console) ReadStdin() (string, error) {
	if c.stdinRead {
		return "", command.UsageError("only one value can be -: the standard input is read once")
	}
	c.stdinRead = true
	b, err := io.ReadAll(io.LimitReader(c.In, maxStdin+1))
	if len(b) > maxStdin {
		return "", loci.Errorf(loci.CodePayloadTooLarge, "the standard input has more than 1 MiB: send less")
	}
	return string(b), err
}

// ReadLine reads the next line of the standard input, so that several secrets can be read from it.
func (c *Console) ReadLine() (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) <= maxStdin; {
		n, err := c.In.Read(one)
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
