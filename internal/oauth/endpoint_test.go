package oauth

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
)

// TestEndpointLogsAndCountsCalls checks the fields by which an operator finds a call, and what each level means.
func TestEndpointLogsAndCountsCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err      error
		status   int
		retry    string
		has, not []string
	}{
		{nil, 200, "", []string{"level=INFO msg=call op=oauth.token transport=oauth method=POST request=",
			"user=ann credential=grant-1", "status=200", "us=", `code=""`}, []string{"err="}},
		{errorf(codeInvalidGrant, "A text"), 400, "", []string{"level=INFO", "status=400", "code=invalid_grant"},
			[]string{"A text", "err="}},
		{&loci.Error{Code: loci.CodeUnavailable, Err: errors.New("no route")}, 503, "1",
			[]string{"level=INFO msg=call", "status=503", "code=temporarily_unavailable",
				`level=WARN msg=unavailable op=oauth.token`, `err="no route"`}, []string{"ERROR"}},
		{&loci.Error{Code: loci.CodeStorageFull, Message: "Full.", Err: errors.New("no space")}, 507, "60",
			[]string{"level=ERROR msg=call", "status=507", "code=temporarily_unavailable", `err="no space"`}, nil},
		{&loci.Error{Code: loci.CodeInternalError, Err: store.ErrUnknownOutcome}, 503, "1",
			[]string{"level=ERROR msg=call", "status=503", "code=temporarily_unavailable", "outcome of the commit"},
			nil},
		{errors.New("a flaw"), 500, "", []string{"level=ERROR msg=call", "status=500", "code=server_error",
			`err="a flaw"`}, nil},
	} {
		var log bytes.Buffer
		var counted loci.Code
		s := &Server{Options: Options{Host: &op.Host{Log: slog.New(slog.NewTextHandler(&log, nil)),
			Observe: func(o *op.Op, call *op.Call, code loci.Code, _ time.Duration) {
				counted = loci.Code(o.Name+" "+call.Transport+" ") + code
			}}}}
		w := httptest.NewRecorder()
		s.endpoint("token", func(_ http.ResponseWriter, _ *http.Request, call *op.Call) (any, error) {
			call.UserID, call.CredentialID = "ann", "grant-1"
			return struct{}{}, c.err
		}).ServeHTTP(w, httptest.NewRequest("POST", "/oauth/token", nil))
		if w.Code != c.status || w.Header().Get("Retry-After") != c.retry {
			t.Errorf("%v: %d, Retry-After %q", c.err, w.Code, w.Header().Get("Retry-After"))
		}
		for _, text := range c.has {
			if !strings.Contains(log.String(), text) {
				t.Errorf("%v: no %s in %s", c.err, text, log.String())
			}
		}
		for _, text := range c.not {
			if strings.Contains(log.String(), text) {
				t.Errorf("%v: %s in %s", c.err, text, log.String())
			}
		}
		if !strings.HasPrefix(string(counted), "oauth.token oauth ") || !strings.Contains(log.String(),
			"code="+strings.TrimPrefix(string(counted), "oauth.token oauth ")) {
			t.Errorf("%v: counted as %q", c.err, counted)
		}
	}
}
