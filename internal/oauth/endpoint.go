package oauth

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
)

// An endpoint answers a program with an object of JSON, or an error.
type endpoint func(w http.ResponseWriter, r *http.Request) (answer any, err error)

// A created answer is that of a new record.
type created struct{ any }

// endpoint returns the handler of an endpoint of programs.
func (s *Server) endpoint(name string, run endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.InitHeaders(w, r)
		w.Header().Set("Pragma", "no-cache")
		start := time.Now()
		answer, err := run(w, r)
		status, f := http.StatusOK, (*fault)(nil)
		if err != nil {
			f = asFault(err, codeInvalidRequest)
			answer, status = f.body(), f.status
			f.setHeaders(w.Header())
		} else if c, ok := answer.(created); ok {
			answer, status = c.any, http.StatusCreated
		}
		s.logCall(w, r, name, f, start)
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

// logCall writes the line of a call, like those of operations: no code, token or text of a client.
func (s *Server) logCall(w http.ResponseWriter, r *http.Request, name string, f *fault, start time.Time) {
	level, code := slog.LevelInfo, ""
	attrs := []slog.Attr{slog.String("op", "oauth."+name), slog.String("transport", "oauth"),
		slog.String("request", w.Header().Get("X-Request-Id")), slog.Int64("us", time.Since(start).Microseconds())}
	if f != nil {
		if code = f.code; code == codeServerError {
			level = slog.LevelError
		}
		if f.cause != nil {
			attrs = append(attrs, slog.String("err", f.cause.Error()))
		}
	}
	s.Log.LogAttrs(r.Context(), level, "call", append(attrs, slog.String("code", code))...)
}
