package listen

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/testenv"
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

func TestErrorLogReportsRefusedConnections(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &logtest.Buffer{}
	log := slog.New(slog.NewJSONHandler(out, nil))
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = ErrorLog(log, "api")
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = &refusingListener{l, 3}
	server.Start()
	res, err := testenv.Client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if text := out.String(); strings.Count(text, `"level":"ERROR","msg":"connections cannot be accepted","listener":"api",`+
		`"err":"accept tcp `) != 3 || strings.Count(text, "too many open files") != 3 || strings.Count(text, "\n") != 3 {
		t.Errorf("the log has %s", text)
	}
}

// A failingListener fails with an error.
type failingListener struct {
	net.Listener
	err error
}

func (l failingListener) Accept() (net.Conn, error) {
	return nil, &net.OpError{Op: "accept", Err: l.err}
}

func TestErrorsOfTheSystemAreTemporary(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]bool{syscall.EMFILE: true, syscall.ENOBUFS: true, syscall.ENOMEM: true,
		syscall.EPERM: true, net.ErrClosed: false} {
		_, err := Retry(failingListener{err: cause}).Accept()
		if e, ok := err.(interface{ Temporary() bool }); !errors.Is(err, cause) || (ok && e.Temporary()) != want {
			t.Errorf("%v: temporary is not %t", err, want)
		}
	}
}

func TestHTTPErrorLogIsStructured(t *testing.T) {
	t.Parallel()
	out := &logtest.Buffer{}
	log := slog.New(slog.NewJSONHandler(out, nil))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("a text of a user")
		}
		w.WriteHeader(http.StatusNoContent)
		w.WriteHeader(http.StatusOK)
	}))
	server.Config.ErrorLog = ErrorLog(log, "metrics")
	server.Start()
	for _, path := range []string{"/panic", "/twice"} {
		if res, err := testenv.Client.Get(server.URL + path); err == nil {
			if err := res.Body.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	server.Close()
	text := out.String()
	for _, want := range []string{
		`"msg":"a request handler panicked","listener":"metrics","stack":"goroutine `, "error_log_test.go:",
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
