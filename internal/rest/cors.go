package rest

import (
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/httpapi"
)

const (
	allowHeaders = "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, " +
		"mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, x-loci-actor, x-request-id, x-service-actor"
	exposeHeaders = "Allow, Deprecation, ETag, Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, " +
		"RateLimit-Reset, Retry-After, Sunset, WWW-Authenticate, X-Request-Id"
)

// handleCORS lets a browser show the response to a page of an allowed origin, and handles preflight requests. It
// reports whether it was a preflight request. Credentials are not allowed, because cookies are not for other origins.
// Another origin reads nothing.
func (d *handler) handleCORS(w http.ResponseWriter, r *http.Request) (answered bool) {
	h := w.Header()
	policy := d.cors[r.URL.Path]
	if policy == httpapi.CORSNone || policy == httpapi.CORSConfigured && !d.Origins.Enabled() {
		return false
	}
	origin, vary := "*", ""
	if policy == httpapi.CORSConfigured {
		vary = "Origin, "
		h.Set("Vary", "Origin")
		var ok bool
		if origin, ok = d.Origins.Allowed(r); !ok {
			return false
		}
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Values("Access-Control-Request-Method") == nil {
		h.Set("Access-Control-Expose-Headers", exposeHeaders)
		return false
	}
	h.Set("Vary", vary+"Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	h.Set("Access-Control-Allow-Headers", allowHeaders)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
