package listen

import (
	"bytes"
	"errors"
	stdlog "log"
	"log/slog"
	"net"
	"syscall"
	"time"
)

// Pauses between two attempts to accept a connection that the system refuses.
const (
	acceptRetry    = 5 * time.Millisecond // doubled with each failure
	acceptRetryMax = time.Second
)

// A retryListener retries while the system refuses to accept connections, for example without a free file descriptor.
// It logs the beginning and the end of such an outage. net/http would log every attempt.
type retryListener struct {
	net.Listener
	name string
	log  *slog.Logger
}

// Harden returns a listener that retries to accept connections, and closes those whose client does not read.
func Harden(l net.Listener, name string, log *slog.Logger) net.Listener {
	return WithWriteDeadlines(&retryListener{l, name, log})
}

// Accept returns the next connection.
func (l *retryListener) Accept() (net.Conn, error) {
	var since time.Time
	pause := acceptRetry
	for failures := 0; ; failures++ {
		c, err := l.Listener.Accept()
		refused, ok := errors.AsType[syscall.Errno](err)
		if !ok {
			if failures > 0 && err == nil {
				l.log.Warn("connections are accepted again", "listener", l.name,
					"failures", failures, "seconds", int64(time.Since(since)/time.Second))
			}
			return c, err
		}
		if failures == 0 {
			since = time.Now()
			l.log.Error("connections cannot be accepted", "listener", l.name, "err", refused.Error())
		}
		time.Sleep(pause)
		pause = min(2*pause, acceptRetryMax)
	}
}

// ErrorLog returns the log of an http.Server, with structured lines.
func ErrorLog(log *slog.Logger, listener string) *stdlog.Logger {
	return stdlog.New(httpErrorWriter{log.With("listener", listener)}, "", 0)
}

type httpErrorWriter struct{ log *slog.Logger }

var panicPrefix = []byte("http: panic serving ")

// Write logs an error of net/http. It logs only the stack of a panic, because
// the panic's value may contain a text of a user.
func (w httpErrorWriter) Write(p []byte) (int, error) {
	if begin := bytes.LastIndex(p, []byte("\ngoroutine ")); begin >= 0 && bytes.HasPrefix(p, panicPrefix) {
		w.log.Error("a request handler panicked", "stack", string(p[begin+1:]))
		return len(p), nil
	}
	w.log.Warn("the HTTP library reports a misuse", "err",
		string(bytes.TrimPrefix(bytes.TrimSpace(p), []byte("http: "))))
	return len(p), nil
}
