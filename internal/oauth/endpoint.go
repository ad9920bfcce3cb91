package oauth

import (
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// An endpoint answers a program with an object of JSON, or an error. It notes user and grant in the call, for the log.
type endpoint func(w http.ResponseWriter, r *http.Request, c *op.Call) (answer any, err error)

// A created answer is that of a new record.
type created struct{ any }

// endpoint returns the handler of an endpoint of programs.
func (s *Server) endpoint(name string, run endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.InitHeaders(w, r)
		w.Header().Set("Pragma", "no-cache")
		start, c := time.Now(), httpapi.NewCall(w, r, "oauth", s.TrustedProxies)
		answer, err := run(w, r, c)
		status, f := http.StatusOK, (*fault)(nil)
		if err != nil {
			f = asFault(err, codeInvalidRequest)
			answer, status = f.body(), f.status
			f.setHeaders(w.Header())
		} else if made, ok := answer.(created); ok {
			answer, status = made.any, http.StatusCreated
		}
		outcome := op.Outcome{Name: "oauth." + name, Method: r.Method, Call: c, Status: status, Start: start}
		if f != nil {
			outcome.Code, outcome.Err = loci.Code(f.code), f.cause
		}
		s.Host.LogOutcome(r.Context(), outcome)
		body := encode(answer)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body) // a client that has left reads nothing
	})
}

// errorBody is an error response (RFC 6749, section 5.2).
type errorBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func (f *fault) body() errorBody { return errorBody{f.code, f.description} }

// setHeaders sets Retry-After. A challenge is missing: clients have no secret, so there is no scheme to ask for.
func (f *fault) setHeaders(h http.Header) {
	if f.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((f.retryAfter+time.Second-1)/time.Second), 10))
	}
}
