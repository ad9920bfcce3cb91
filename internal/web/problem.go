package web

import (
	"net/http"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// ErrorPage returns the page for the errors of requests that are not for a page of the table.
func ErrorPage(site httpapi.Site) httpapi.ErrorPage {
	return func(w http.ResponseWriter, r *http.Request, e *loci.Error) {
		v := &view{Title: problemTitle(e.Code), Base: site.BaseURL(r), Start: "/", Insecure: !site.IsSecure(r)}
		v.explain(e, w.Header().Get("X-Request-Id"))
		if v.SignInFirst = e.Code.Status() == http.StatusUnauthorized; v.SignInFirst {
			v.Alert = "This address needs a sign-in, or the API key of a program."
		}
		w.Header().Set("Referrer-Policy", referrerPolicy(v.Insecure))
		render(w, e.Code.Status(), templates, "problem", v)
	}
}

// problemTitles are the titles of errors by status.
var problemTitles = map[int]string{
	http.StatusBadRequest:            "The request is not valid",
	http.StatusUnauthorized:          "Sign in first",
	http.StatusForbidden:             "This is not allowed",
	http.StatusNotFound:              "Nothing is at this address",
	http.StatusMethodNotAllowed:      "This address has no page",
	http.StatusRequestEntityTooLarge: "This is too large",
	http.StatusTooManyRequests:       "There were too many requests",
	http.StatusServiceUnavailable:    "The server is busy",
	http.StatusInsufficientStorage:   "The server has no room",
}

// problemTitle returns the title of the page of an error.
func problemTitle(c loci.Code) string {
	if title := problemTitles[c.Status()]; title != "" {
		return title
	}
	return "The request failed"
}

// explain shows an error with its code and the id of the request.
func (v *view) explain(e *loci.Error, requestID string) {
	v.Code, v.RequestID, v.Alert = e.Code, requestID, op.RetryMessage(e)
	switch {
	case e.Code == loci.CodeRateLimited && e.RetryAfter > 0:
		v.Alert = "There were too many attempts. Try again in " + op.WaitText(e.RetryAfter) + "."
	case e.Code == loci.CodeInternalError:
		v.Alert = "Something failed on our side: try again. Name the request " + requestID + " when you report it."
	}
}
