package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
)

// An inputError is an operation's error about an incomplete command line, in the words of every transport.
type inputError struct {
	error
	hint string // how to complete it
}

func (m inputError) Unwrap() error { return m.error }

// reportError prints the error of a command, with --json as an object, and returns the exit
// code. A failure before the command starts is a usage error.
func (p *program) reportError(cmd *cobra.Command, err error) int {
	help := "\nTry " + cmd.CommandPath() + " --help."
	if err == command.ErrReported {
		return exitFailure
	}
	if code, ok := errors.AsType[command.ExitCode](err); ok {
		return int(code)
	}
	if err == command.ErrUnanswered {
		return exitUsage
	}
	if late, ok := errors.AsType[command.UsageError](err); ok || !p.started {
		if ok {
			err = late
		}
		if (p.JSON || !p.started && p.asksJSON) && !excludesFlag(cmd, "json") {
			_ = p.PrintJSON(op.NewErrorBody(loci.Errorf(loci.CodeInvalidQuery, "%s", err), p.requestID))
			return exitUsage
		}
		p.PrintMessage(err.Error() + help)
		return exitUsage
	}
	if errors.Is(err, context.Canceled) {
		p.PrintMessage("interrupted")
		return exitInterrupted
	}
	code, more := exitFailure, ""
	invalid, ok := errors.AsType[inputError](err)
	if ok {
		code, more = exitUsage, help
	}
	if p.JSON {
		// nobody can read a failed write
		_ = p.PrintJSON(op.NewErrorBody(oneLineError(err), p.requestID))
		return code
	}
	text := joinLines(err.Error())
	if e := oneLineError(err); e.Code != loci.CodeInternalError || loci.AsError(err).Err == nil {
		message := strings.TrimSuffix(p.errorText(e), ".")
		if invalid.hint != "" {
			message += ": " + invalid.hint
		}
		text = fmt.Sprintf("%s (%s)", message, e.Code)
		if e.RetryAfter > 0 && !saysWait(e) {
			text += "\nTry again in " + op.WaitText(e.RetryAfter) + "."
		}
	}
	p.PrintMessage(format.StripControl(text, true) + more)
	return code
}

// saysWait reports whether the message of an error has the time to wait: that of a quota, and of a limit of a server.
func saysWait(e *loci.Error) bool {
	isLimit := e.Code == loci.CodeRateLimited || e.Code == loci.CodeUnavailable
	return e.Code == loci.CodeQuotaExceeded || isLimit && op.RetryMessage(e) == e.Message
}

// errorText returns the message of an error in the words of the command line: with the names of flags and variables.
func (p *program) errorText(e *loci.Error) string {
	switch {
	case p.currentTarget.url == "":
	case e.Code == loci.CodeMissingAPIKey && !p.currentTarget.hasCredential():
		return fmt.Sprintf("There is no key for %s: use loci login %s, or set LOCI_API_KEY", p.currentTarget.url,
			p.currentTarget.url)
	case e.Code == loci.CodeInvalidKey && p.currentTarget.tokens != nil:
		return fmt.Sprintf("The login for %s has ended: sign in again: loci login %[1]s", p.currentTarget.url)
	case e.Code == loci.CodeInsufficientScope && p.currentTarget.tokens != nil:
		return fmt.Sprintf("The login for %s reaches only the workspaces that you chose: run loci login %[1]s and "+
			"allow everything that you may do", p.currentTarget.url)
	case e.Code == loci.CodeRevoked:
		return fmt.Sprintf("This key was revoked at %s: use loci login %[1]s with another one, or set LOCI_API_KEY",
			p.currentTarget.url)
	case e.Code == loci.CodeInvalidKey:
		return fmt.Sprintf("%s does not take this key: use loci login %[1]s with another one, or set LOCI_API_KEY",
			p.currentTarget.url)
	case e.Code == loci.CodeNotFound && strings.HasPrefix(e.Message, "There is no such route"):
		return fmt.Sprintf("%s has no such command: it runs another variant of the contract (LOCI_CONTRACT), or "+
			"another version of Loci", p.currentTarget.url)
	case e.Code == loci.CodeUnavailable && strings.Contains(e.Message, "cannot be reached"):
		hint := "start it, or name another with --server or LOCI_URL"
		if p.worksHere {
			hint = "start it, name another with --server or LOCI_URL, or work on this device with --local"
		}
		return fmt.Sprintf("%s (the server of %s): %s", e.Message, p.currentTarget.reason, hint)
	}
	if p.inFlags != nil && e.Code == loci.CodeInvalidQuery {
		return p.inFlags(e.Message)
	}
	return e.Message
}

// oneLineError returns err as an Error whose message is one line. On this device no log shows the cause: a message that
// only repeats its code gets the cause.
func oneLineError(err error) *loci.Error {
	e := loci.AsError(err)
	message := e.Message
	if e.Err != nil && message == e.Code.Hint() {
		if message = e.Err.Error(); e.Code != loci.CodeInternalError {
			message = strings.TrimSuffix(e.Message, ".") + ": " + message
		}
	}
	return &loci.Error{Code: e.Code, Message: joinLines(message), RetryAfter: e.RetryAfter}
}

// joinLines joins the lines of an error, each of them once: a database with
// several addresses fails at each of them, in separate lines.
func joinLines(text string) string {
	var out string
	reported := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || reported[line] {
			continue
		}
		reported[line] = true
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
