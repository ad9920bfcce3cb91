package rest

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// newCall gathers what travels in the head of a request. Header names are written
// as net/http keeps them, so that no look-up has to rewrite one.
func (d *handler) newCall(w http.ResponseWriter, r *http.Request) *op.Call {
	c := &op.Call{
		Transport:   "rest",
		ActorHeader: actorHeader(r.Header),
		AgentIDSent: len(r.Header["X-Loci-Agent-Id"]) > 0,
		CrossOrigin: d.crossOrigin.Check(r) != nil,
		Address:     d.TrustedProxies.ClientIP(r),
		RequestID:   w.Header()["X-Request-Id"][0],
	}
	if tags := r.Header["If-Match"]; len(tags) > 0 {
		// lines are one list (RFC 9110, 5.3); an empty one is no licence: it matches nothing
		c.IfMatch = cmp.Or(strings.Join(tags, ", "), `""`)
	}
	c.Credential, c.CredentialKind = d.credential(r)
	if keys := r.Header["Idempotency-Key"]; len(keys) > 0 {
		c.IdempotencyKey, c.IdempotencyKeyCount = keys[0], len(keys)
	}
	return c
}

// credential returns the credential. What stands in Authorization decides alone;
// without that header the cookie does. A key in the query is none.
func (d *handler) credential(r *http.Request) (string, loci.CredentialKind) {
	if given, ok := r.Header["Authorization"]; ok {
		if len(given) > 1 {
			return "", ""
		}
		return bearerToken(given[0]), ""
	}
	if len(r.Header["Cookie"]) > 0 {
		if c, err := r.Cookie(d.cookieName(r)); err == nil {
			return c.Value, loci.CredentialCookie
		}
	}
	return "", ""
}

// bearerToken returns the token of "Bearer token", or nothing.
func bearerToken(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// invalidActor stands for whatever is not the one actor that can be named.
const invalidActor = "other"

func actorHeader(h http.Header) string {
	named := ""
	for _, values := range [2][]string{h["X-Loci-Actor"], h["X-Service-Actor"]} {
		for _, v := range values {
			if v != "agent" {
				return invalidActor
			}
			named = v
		}
	}
	return named
}

// requestID returns the caller's X-Request-Id if it is harmless, else a new one.
func requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && validRequestID(given[0]) {
		return given[0]
	}
	return loci.NewID(time.Now())
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
