package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// errBroken ends a command that has already said what is wrong.
var errBroken = errors.New("something is broken")

// A misuse is a command line that was understood too late to be one.
type misuse string

func (m misuse) Error() string { return string(m) }

// A misshapen is what the operation says of a command line that makes no sense: in
// its own words, which every door has.
type misshapen struct {
	error
	missing *slot // the flag that is to be given, if it is a text
}

func (m misshapen) Unwrap() error { return m.error }

// fail tells the person what went wrong, or with --json the program, and
// returns the exit code. What fails before the command begins is a command
// line that was not understood.
func (p *program) fail(err error) int {
	if err == errBroken {
		return refused
	}
	if late, ok := errors.AsType[misuse](err); ok || !p.began {
		if ok {
			err = late
		}
		p.say(fmt.Sprintf("%v\nTry --help.", err))
		return misused
	}
	if errors.Is(err, context.Canceled) {
		p.say("interrupted")
		return refused
	}
	code, more := refused, ""
	bad, ok := errors.AsType[misshapen](err)
	if ok {
		code, more = misused, "\nTry --help."
	}
	if p.json {
		_ = p.print(op.NewProblem(explain(err), p.requestID)) // there is nobody left to tell
		return code
	}
	text := oneLine(err.Error())
	if e := explain(err); e.Code != loci.InternalError || loci.AsError(err).Err == nil {
		message := strings.TrimSuffix(p.inWords(e), ".")
		if bad.missing != nil {
			message += fmt.Sprintf(": --%s \"...\", or --%s - to read it from the standard input", bad.missing.flag,
				bad.missing.flag)
		}
		text = fmt.Sprintf("%s (%s)", message, e.Code)
		if e.Retry > 0 {
			text += fmt.Sprintf("\nTry again in %v.", e.Retry.Round(time.Second))
		}
	}
	p.say(clean(text, true) + more)
	return code
}

// inWords returns the message of an error as the command line puts it: what is
// missing is told by the names of its flags and variables.
func (p *program) inWords(e *loci.Error) string {
	switch {
	case p.at.url == "":
	case e.Code == loci.MissingAPIKey && p.at.key == "":
		return fmt.Sprintf("There is no key for %s: use loci login %s, or set LOCI_API_KEY", p.at.url, p.at.url)
	case e.Code == loci.InvalidKey || e.Code == loci.Revoked:
		return fmt.Sprintf("%s does not take this key: use loci login %s with another one, or set LOCI_API_KEY",
			p.at.url, p.at.url)
	case e.Code == loci.Unavailable && strings.Contains(e.Message, "cannot be reached"):
		return fmt.Sprintf("%s (the server of %s): start it, name another with --server or LOCI_URL, or work on this device with --local",
			e.Message, p.at.why)
	}
	return e.Message
}

// explain returns err as an Error whose message is one line. On this device nobody
// reads a log: a message that says nothing beyond its code tells the cause too.
func explain(err error) *loci.Error {
	e := loci.AsError(err)
	message := e.Message
	if e.Err != nil && message == e.Code.Hint() {
		if message = e.Err.Error(); e.Code != loci.InternalError {
			message = strings.TrimSuffix(e.Message, ".") + ": " + message
		}
	}
	return &loci.Error{Code: e.Code, Message: oneLine(message), Retry: e.Retry}
}

// oneLine tells the lines of an error in one, each of them once: a database
// with several addresses fails at each of them, in lines of its own.
func oneLine(text string) string {
	var out string
	told := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || told[line] {
			continue
		}
		told[line] = true
		switch {
		case strings.HasSuffix(out, ":"):
			out += " "
		case out != "":
			out += "; "
		}
		out += line
	}
	return out
}

// say writes to the person.
func (p *program) say(text string) {
	_, colour := p.terminal(p.err)
	_, _ = fmt.Fprintln(p.err, bold("loci:", colour), text)
}

// print writes v as one line of JSON.
func (p *program) print(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := p.out.Write(b.Bytes())
	return err
}
