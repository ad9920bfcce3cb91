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
		status, e := http.StatusOK, (*protocolError)(nil)
		if err != nil {
			e = asProtocolError(err, codeInvalidRequest)
			answer, status = e.body(), e.status
			e.setHeaders(w.Header())
		} else if made, ok := answer.(created); ok {
			answer, status = made.any, http.StatusCreated
		}
		outcome := op.Outcome{Name: "oauth." + name, Method: r.Method, Call: c, Status: status, Start: start}
		if e != nil {
			outcome.Code, outcome.Err = loci.Code(e.code), e.cause
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

func (e *protocolError) body() errorBody { return errorBody{e.code, e.description} }

// setHeaders sets Retry-After. A challenge is missing: clients have no secret, so there is no scheme to ask for.
func (e *protocolError) setHeaders(h http.Header) {
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.retryAfter+time.Second-1)/time.Second), 10))
	}
}
