package listen

import (
	"bytes"
	"errors"
	stdlog "log"
	"log/slog"
	"net"
	"syscall"
)

// Retry returns a listener whose errors of the system are temporary (accept(2)): an http.Server accepts again after
// such an error, and ends with others.
func Retry(l net.Listener) net.Listener { return retryListener{l} }

type retryListener struct{ net.Listener }

func (l retryListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		err = temporaryError{err}
	}
	return c, err
}

type temporaryError struct{ error }

func (e temporaryError) Unwrap() error { return e.error }
func (temporaryError) Temporary() bool { return true }
func (temporaryError) Timeout() bool   { return false }

// ErrorLog returns the log of an http.Server, with structured lines.
func ErrorLog(log *slog.Logger, listener string) *stdlog.Logger {
	return stdlog.New(httpErrorWriter{log.With("listener", listener)}, "", 0)
}

type httpErrorWriter struct{ log *slog.Logger }

// Beginnings of lines of net/http. It accepts again after a pause of up to a second, and logs every failure.
var (
	panicPrefix  = []byte("http: panic serving ")
	acceptPrefix = []byte("http: Accept error: ")
)

// Write logs an error of net/http. It logs only the stack of a panic, because
// the panic's value may contain a text of a user.
func (w httpErrorWriter) Write(p []byte) (int, error) {
	line := bytes.TrimSpace(p)
	if begin := bytes.LastIndex(p, []byte("\ngoroutine ")); begin >= 0 && bytes.HasPrefix(p, panicPrefix) {
		w.log.Error("a request handler panicked", "stack", string(p[begin+1:]))
	} else if cause, ok := bytes.CutPrefix(line, acceptPrefix); ok {
		w.log.Error("connections cannot be accepted", "err", string(cause))
	} else {
		w.log.Warn("the HTTP library reports a misuse", "err", string(bytes.TrimPrefix(line, []byte("http: "))))
	}
	return len(p), nil
}
