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

// A fault is an error in the words of OAuth. Its description is ASCII without quotes (RFC 6749, section 5.2).
type fault struct {
	code, description string
	status            int // of an endpoint of programs
	retryAfter        time.Duration
	cause             error // of a failure of this server, for the log
}

func (f *fault) Error() string { return f.code + ": " + f.description }

func faultf(code, format string, args ...any) *fault {
	f := &fault{code: code, description: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
	if code == codeInvalidClient {
		f.status = http.StatusUnauthorized
	}
	return f
}

// asFault returns the fault of an error. Code names an error of the request whose kind OAuth does not know.
func asFault(err error, code string) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	e := loci.AsError(err)
	switch status := e.Code.Status(); {
	case e.Code == loci.CodeStorageFull: // no server_error, after which clients forget their tokens
		return &fault{code: codeUnavailable, description: e.Message, status: status,
			retryAfter: httpapi.RetryAfter(e, nil), cause: err}
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return &fault{code: codeUnavailable, description: "Wait for Retry-After seconds and try again.", status: status,
			retryAfter: httpapi.RetryAfter(e, nil), cause: err}
	case status >= http.StatusInternalServerError:
		return &fault{code: codeServerError, description: "Something failed on this server: try again.", status: status,
			cause: err}
	case status == http.StatusRequestEntityTooLarge:
		return &fault{code: code, status: status,
			description: fmt.Sprintf("The body is larger than %d KiB", maxBody>>10)}
	default:
		return &fault{code: code, description: e.Message, status: status}
	}
}
