package listen

import (
	"bytes"
	stdlog "log"
	"log/slog"
)

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
