package server

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A refusingListener fails as the system does without a free file descriptor.
type refusingListener struct {
	net.Listener
	refusals int
}

func (l *refusingListener) Accept() (net.Conn, error) {
	if l.refusals--; l.refusals >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(),
			Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

func TestRetryListenerLogsOutageOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &syncBuffer{}
	log, flush := NewLog(out, "info")
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = httpErrorLog(log, "api")
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = &retryListener{&refusingListener{l, 6}, "api", log}
	server.Start()
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	flush()
	text := out.String()
	for _, want := range []string{
		`"level":"ERROR","msg":"connections cannot be accepted","listener":"api","err":"too many open files"`,
		`"level":"WARN","msg":"connections are accepted again","listener":"api","failures":6,"seconds":0`,
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the log has not once %s: %s", want, text)
		}
	}
	if strings.Count(text, "\n") != 2 || strings.Contains(text, "http:") || strings.Contains(text, "retrying") {
		t.Errorf("the log has more: %s", text)
	}
}

func TestRetryListenerEndsWhenClosed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	out := &syncBuffer{}
	log, flush := NewLog(out, "info")
	if c, err := (&retryListener{l, "api", log}).Accept(); err == nil {
		t.Errorf("a closed listener accepts %v", c)
	}
	flush()
	if out.String() != "" {
		t.Errorf("the log has %s", out)
	}
}

func TestHTTPErrorLogIsStructured(t *testing.T) {
	t.Parallel()
	out := &syncBuffer{}
	log, flush := NewLog(out, "info")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("a text of a user")
		}
		w.WriteHeader(http.StatusNoContent)
		w.WriteHeader(http.StatusOK)
	}))
	server.Config.ErrorLog = httpErrorLog(log, "metrics")
	server.Start()
	for _, path := range []string{"/panic", "/twice"} {
		if res, err := http.Get(server.URL + path); err == nil {
			if err := res.Body.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	server.Close()
	flush()
	text := out.String()
	for _, want := range []string{
		`"msg":"a request handler panicked","listener":"metrics","stack":"goroutine `, "accept_retry_test.go:",
		`"msg":"the HTTP library reports a misuse","listener":"metrics","err":"superfluous response.WriteHeader ` +
			`call from `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s: %s", want, text)
		}
	}
	if strings.Count(text, "\n") != 2 || strings.Contains(text, "http: ") || strings.Contains(text, "text of a user") {
		t.Errorf("the log has more: %s", text)
	}
}

func TestMetricsListenerHasTimeouts(t *testing.T) {
	t.Parallel()
	srv := (&metrics{}).server(slog.New(slog.DiscardHandler))
	for name, d := range map[string]time.Duration{"header": srv.ReadHeaderTimeout, "read": srv.ReadTimeout,
		"idle": srv.IdleTimeout} {
		if d <= 0 {
			t.Errorf("the time for %s has no bound", name)
		}
	}
}
