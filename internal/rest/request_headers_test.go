package rest_test

import (
	"net/http/httptest"
	"testing"

	"github.com/loci-memory/loci/internal/rest"
)

func TestCallHasAddressBehindTrustedProxy(t *testing.T) {
	t.Parallel()
	s := &fakeService{}
	r := httptest.NewRequest("GET", "/v1/things", nil)
	r.RemoteAddr = "10.0.0.1:5"
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	if rest.New(options(s)).ServeHTTP(httptest.NewRecorder(), r); s.lastCall().Address != "203.0.113.9" {
		t.Errorf("the address is %s", s.lastCall().Address)
	}
}
