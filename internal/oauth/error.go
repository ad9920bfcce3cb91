package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
)

// Codes of errors (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2; RFC 8707, section 2).
const (
	codeInvalidRequest    = "invalid_request"
	codeInvalidClient     = "invalid_client"
	codeInvalidGrant      = "invalid_grant"
	codeInvalidScope      = "invalid_scope"
	codeInvalidTarget     = "invalid_target"
	codeUnsupportedGrant  = "unsupported_grant_type"
	codeUnsupportedAnswer = "unsupported_response_type"
	codeAccessDenied      = "access_denied"
	codeInvalidRedirect   = "invalid_redirect_uri"
	codeInvalidMetadata   = "invalid_client_metadata"
	codeServerError       = "server_error"
	codeUnavailable       = "temporarily_unavailable"
)

// A protocolError is an error of OAuth. Its description is ASCII without quotes (RFC 6749, section 5.2).
type protocolError struct {
	code, description string
	status            int // of an endpoint of programs
	retryAfter        time.Duration
	cause             error // of a failure of this server, for the log
}

func (e *protocolError) Error() string { return e.code + ": " + e.description }

func errorf(code, format string, args ...any) *protocolError {
	e := &protocolError{code: code, description: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
	if code == codeInvalidClient {
		e.status = http.StatusUnauthorized
	}
	return e
}

// asProtocolError returns the OAuth error for err. Code names an error of the request whose kind OAuth does not know.
func asProtocolError(err error, code string) *protocolError {
	if e, ok := errors.AsType[*protocolError](err); ok {
		return e
	}
	e := loci.AsError(err)
	p := &protocolError{code: code, description: e.Message, status: e.Code.Status()}
	switch {
	case e.Code == loci.CodeStorageFull: // no server_error, after which clients forget their tokens
		p.code, p.retryAfter, p.cause = codeUnavailable, httpapi.RetryAfter(e, nil), err
	case p.status == http.StatusTooManyRequests, p.status == http.StatusServiceUnavailable:
		p.code, p.retryAfter, p.cause = codeUnavailable, httpapi.RetryAfter(e, nil), err
		p.description = "Wait for Retry-After seconds and try again."
	case p.status >= http.StatusInternalServerError:
		p.code, p.description, p.cause = codeServerError, "Something failed on this server: try again.", err
	case p.status == http.StatusRequestEntityTooLarge:
		p.description = fmt.Sprintf("The body is larger than %d KiB", maxBody>>10)
	}
	return p
}
