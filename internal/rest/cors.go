package rest

import (
	"net/http"
	"strings"
)

var (
	varyOrigin    = []string{"Origin"}
	varyPreflight = []string{"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}
	allowMethods  = []string{strings.Join(methods, ", ")}
	allowHeaders  = []string{"authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, " +
		"x-loci-actor, x-request-id, x-service-actor"}
	maxAge        = []string{"600"}
	exposeHeaders = []string{"Allow, Deprecation, ETag, Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, " +
		"RateLimit-Reset, Retry-After, Sunset, WWW-Authenticate, X-Request-Id"}
)

// handleCORS tells a browser that a page of a configured origin may read the answer
// (Fetch, section 3.3), and answers its question beforehand; it reports
// whether it did. Cookies are not for other origins, so credentials are not
// allowed. Another origin reads nothing.
func (d *handler) handleCORS(w http.ResponseWriter, r *http.Request) (answered bool) {
	h := w.Header()
	h["Vary"] = varyOrigin
	given := r.Header["Origin"]
	if len(given) != 1 || d.allowedOrigins[given[0]] == nil {
		return false
	}
	h["Access-Control-Allow-Origin"] = d.allowedOrigins[given[0]]
	if r.Method != http.MethodOptions || r.Header["Access-Control-Request-Method"] == nil {
		h["Access-Control-Expose-Headers"] = exposeHeaders
		return false
	}
	h["Vary"] = varyPreflight
	h["Access-Control-Allow-Methods"] = allowMethods
	h["Access-Control-Allow-Headers"] = allowHeaders
	h["Access-Control-Max-Age"] = maxAge
	w.WriteHeader(http.StatusNoContent)
	return true
}
