package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// InitHeaders sets the headers that every response has. A transport inside another one keeps the request id.
func InitHeaders(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if h.Get("X-Request-Id") == "" {
		h.Set("X-Request-Id", requestID(r.Header))
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

// NewCall returns the call of a request after InitHeaders: its bearer token, actor, address and request id.
func NewCall(w http.ResponseWriter, r *http.Request, transport string, proxies Proxies) *op.Call {
	return &op.Call{
		Transport:   transport,
		Credential:  bearerToken(r.Header),
		ActorHeader: actorHeader(r.Header),
		AgentIDSent: len(r.Header.Values("X-Loci-Agent-Id")) > 0,
		Address:     proxies.ClientIP(r),
		UserAgent:   r.UserAgent(),
		RequestID:   w.Header().Get("X-Request-Id"),
	}
}

// bearerToken returns the token of the one header "Authorization: Bearer token" (RFC 6750, section 2.1).
func bearerToken(h http.Header) string {
	given := h.Values("Authorization")
	if len(given) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// invalidActor replaces every value of an actor header that is not "agent".
const invalidActor = "other"

func actorHeader(h http.Header) string {
	actor := ""
	for _, name := range []string{"X-Loci-Actor", "X-Service-Actor"} {
		for _, v := range h.Values(name) {
			if v != "agent" {
				return invalidActor
			}
			actor = v
		}
	}
	return actor
}

// requestID returns the one X-Request-Id of the client if it is valid, else a new id.
func requestID(h http.Header) string {
	if given := h.Values("X-Request-Id"); len(given) == 1 && validRequestID(given[0]) {
		return given[0]
	}
	return string(loci.NewID(time.Now()))
}

// validRequestID reports whether s is 1 to 128 of [A-Za-z0-9._-].
func validRequestID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
