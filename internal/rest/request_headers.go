package rest

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// newCall returns the call of a request. Without an Authorization header the cookie is the credential.
func (d *handler) newCall(w http.ResponseWriter, r *http.Request) *op.Call {
	c := httpapi.NewCall(w, r, op.TransportREST, d.TrustedProxies)
	d.AddCookie(r, c)
	if tags := r.Header.Values("If-Match"); tags != nil {
		// Lines are one list (RFC 9110, section 5.3). An empty one matches nothing.
		c.IfMatch = cmp.Or(strings.Join(tags, ", "), `""`)
	}
	c.LastEventID = r.Header.Get("Last-Event-ID")
	if keys := r.Header.Values("Idempotency-Key"); keys != nil {
		c.IdempotencyKey, c.IdempotencyKeyCount = keys[0], len(keys)
	}
	return c
}
