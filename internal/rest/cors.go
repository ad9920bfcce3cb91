package rest

import (
	"net/http"
	"slices"
	"strings"
)

const (
	allowHeaders = "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, " +
		"x-loci-actor, x-request-id, x-service-actor"
	exposeHeaders = "Allow, Deprecation, ETag, Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, " +
		"RateLimit-Reset, Retry-After, Sunset, WWW-Authenticate, X-Request-Id"
)

// handleCORS lets a browser show the answer to a page of a configured origin
// (Fetch, section 3.3), and answers preflight requests; it reports whether it
// did. Cookies are not for other origins, so credentials are not allowed.
// Another origin reads nothing.
func (d *handler) handleCORS(w http.ResponseWriter, r *http.Request) (answered bool) {
	h := w.Header()
	h.Set("Vary", "Origin")
	given := r.Header.Values("Origin")
	if len(given) != 1 || !slices.Contains(d.Origins, given[0]) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", given[0])
	if r.Method != http.MethodOptions || r.Header.Values("Access-Control-Request-Method") == nil {
		h.Set("Access-Control-Expose-Headers", exposeHeaders)
		return false
	}
	h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	h.Set("Access-Control-Allow-Headers", allowHeaders)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
