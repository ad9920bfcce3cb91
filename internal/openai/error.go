package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/retryafter"
)

// An Error is a request that a service has not answered as asked.
type Error struct {
	Code       string        // one of the safe codes that the service gave, or empty
	Transient  bool          // a retry may help
	RetryAfter time.Duration // the pause that the service has requested; 0 means none
	MayHaveRun bool          // the service may have done the work, and counted it

	error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.error }

// transportError returns the error for an incomplete response. It includes only those parts of foreign errors that
// cannot contain a part of the request or the response.
func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &Error{MayHaveRun: true, error: fmt.Errorf("was cancelled: %w", ctx.Err())}
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return &Error{Transient: true, MayHaveRun: true, error: errors.New("did not answer in time")}
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return &Error{Transient: true, MayHaveRun: e.Op != "dial", error: fmt.Errorf("cannot be reached: %v", e)}
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &Error{error: fmt.Errorf("cannot be trusted: %v", e)}
	}
	return &Error{Transient: true, MayHaveRun: true,
		error: errors.New("broke the connection, or does not speak HTTP")}
}

// CodeUnsupportedParameter is the code of a request with a parameter that the model refuses.
const CodeUnsupportedParameter = "unsupported_parameter"

// safeCodes are the error codes that are shown. Others, and the message, could contain a text or the key.
var safeCodes = []string{"invalid_api_key", "model_not_found", "context_length_exceeded", "insufficient_quota",
	"rate_limit_exceeded", CodeUnsupportedParameter}

// statusError returns the error for a status other than 200.
func statusError(res *http.Response, body []byte) error {
	text := fmt.Sprintf("answers with status %d", res.StatusCode)
	e := &Error{}
	var p struct {
		Error struct{ Code any }
	}
	if json.Unmarshal(body, &p) == nil {
		if code, ok := p.Error.Code.(string); ok && slices.Contains(safeCodes, code) {
			e.Code = code
			text += " (" + code + ")"
		}
	}
	switch status := res.StatusCode; {
	case status/100 == 3:
		text += ": redirects are not followed, name the address that it leads to"
	case status == http.StatusTooManyRequests || status/100 == 5:
		e.Transient, e.RetryAfter = true, retryafter.Parse(res.Header.Get("Retry-After"), time.Now())
		e.MayHaveRun = status/100 == 5 // a gateway has given up on a service that works
	}
	e.error = errors.New(text)
	return e
}
