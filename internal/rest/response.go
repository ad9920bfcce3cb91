package rest

import (
	"net/http"
	"strconv"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

const contentTypeJSON = "application/json"

// writeOutput writes the output of an operation.
func (d *handler) writeOutput(w http.ResponseWriter, r *http.Request, o *op.Op, c *op.Call, out any) {
	h := w.Header()
	if c.ETag != "" {
		h.Set("ETag", c.ETag)
		isGet := r.Method == http.MethodGet || r.Method == http.MethodHead
		if isGet && httpapi.ETagMatches(r.Header.Values("If-None-Match"), c.ETag) {
			httpapi.SetQuotaHeaders(h, c.Quota)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body, err := op.Encode(out)
	if err != nil {
		d.Log.ErrorContext(r.Context(), "answer", "request", c.RequestID, "err", err)
		httpapi.WriteError(w, r, c.Quota, err)
		return
	}
	end, err := d.ResponseLimiter.Acquire(r.Context(), c.UserID, len(body), o.ReadOnly) // a read can be repeated
	if err != nil {
		httpapi.WriteError(w, r, c.Quota, err)
		return
	}
	defer end()
	httpapi.SetQuotaHeaders(h, c.Quota)
	if c.Replayed {
		h.Set("Idempotency-Replayed", "true")
	}
	d.SetCookie(w, r, c, out)
	h.Set("Content-Type", contentTypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(o.Status(out))
	w.Write(body)
}
