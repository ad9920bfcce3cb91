package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/logtest"
)

func TestServerWarnsOnceOfForwardingProxyThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	out := &logtest.Buffer{}
	h := warnOfProxy(httpapi.Proxies{netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.NewJSONHandler(out, nil)),
		http.NotFoundHandler())
	send := func(peer, header string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", nil)
		r.RemoteAddr = peer
		if header != "" {
			r.Header.Set(header, "203.0.113.1")
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	send("192.0.2.1:5", "")
	send("10.0.0.1:5", "X-Forwarded-For")
	if out.String() != "" {
		t.Fatal("a warning without cause: ", out)
	}
	for range 3 {
		send("192.0.2.1:5", "Forwarded")
		send("192.0.2.2:5", "X-Forwarded-For")
	}
	if text := out.String(); strings.Count(text, "LOCI_TRUSTED_PROXIES") != 1 || strings.Contains(text, "203.0.113.1") {
		t.Error(text)
	}
}
