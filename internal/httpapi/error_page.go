package httpapi

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

// An ErrorPage writes an error as a page for people. The headers of the error are set.
type ErrorPage func(w http.ResponseWriter, r *http.Request, e *loci.Error)

type errorPageKey struct{}

// WithErrorPage returns a request whose error WriteError writes as a page, if a browser sent it to show the response.
func WithErrorPage(r *http.Request, page ErrorPage) *http.Request {
	if page == nil || !isNavigation(r) || !prefersHTML(r.Header) {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), errorPageKey{}, page))
}

// isNavigation reports whether a browser shows the response: a link, or a form. Scripts of a page say another mode, and
// programs that name text/html by default send JSON or other methods.
func isNavigation(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	if mode != "" && mode != "navigate" {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		return media == "" || media == "application/x-www-form-urlencoded" || media == "multipart/form-data"
	}
	return mode == "navigate"
}

// prefersHTML reports whether a client shows pages. It names text/html (RFC 9110, section 12.5.1), and JSON at most in
// a lower place. Browsers send no Authorization header of this API; some HTTP libraries name text/html by default.
func prefersHTML(h http.Header) bool {
	accept := h["Accept"]
	if len(accept) == 0 || len(h["Authorization"]) > 0 {
		return false
	}
	html, json := 0.0, 0.0
	for item := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		q := 1.0
		if given, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(given, 64); err != nil {
				continue
			}
		}
		switch media {
		case "text/html", "application/xhtml+xml":
			html = max(html, q)
		case "application/json":
			json = max(json, q)
		}
	}
	return html > json
}
