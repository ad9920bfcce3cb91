package rest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/rest"
)

func TestCORSFollowsThePolicyOfTheRoute(t *testing.T) {
	t.Parallel()
	o := options(&fakeService{})
	o.ExtraRoutes = []httpapi.Route{
		{Pattern: "GET /{$}", Handler: httpapi.StaticJSON([]byte("{}")), CORS: httpapi.CORSNone},
		{Pattern: "GET /public", Handler: httpapi.StaticJSON([]byte("{}")), CORS: httpapi.CORSAny},
		{Pattern: "/extra", Handler: httpapi.StaticJSON([]byte("{}"))},
	}
	configured := rest.New(o)
	o.Origins = httpapi.NewOrigins("")
	closed := rest.New(o)
	const known, unknown = "https://app.example.org", "https://evil.example"
	for _, c := range []struct {
		handler            http.Handler
		path, origin, want string
	}{
		{configured, "/", known, ""}, {configured, "/extra", known, known}, {configured, "/extra", unknown, ""},
		{configured, "/public", known, "*"}, {configured, "/public", unknown, "*"}, {closed, "/public", unknown, "*"},
		{closed, "/extra", known, ""}, {closed, "/", known, ""},
	} {
		for method, status := range map[string]int{"GET": 200, "OPTIONS": 204} {
			r, w := httptest.NewRequest(method, c.path, nil), httptest.NewRecorder()
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Access-Control-Request-Method", "GET")
			c.handler.ServeHTTP(w, r)
			got := w.Header().Get("Access-Control-Allow-Origin")
			if got != c.want || c.want != "" && w.Code != status {
				t.Errorf("%s %s from %s: %d, %q, want %q", method, c.path, c.origin, w.Code, got, c.want)
			}
		}
	}
}
