package loci

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Code is a machine-readable error code. Its text is part of the API: clients decide by it, never by the message.
type Code string

// The codes of the specification (section 7) and of the contract (section 2).
const (
	CodeInvalidQuery           Code = "invalid_query"
	CodeAtlasWorkspaceMismatch Code = "atlas_workspace_mismatch"
	CodeSecretDetected         Code = "secret_detected"
	CodeMissingAPIKey          Code = "missing_api_key"
	CodeInvalidKey             Code = "invalid_key"
	CodeRevoked                Code = "revoked"
	CodeForbidden              Code = "forbidden"
	CodeInsufficientScope      Code = "insufficient_scope"
	CodeNotFound               Code = "not_found"
	CodeMethodNotAllowed       Code = "method_not_allowed"
	CodeWorkspaceNotEmpty      Code = "workspace_not_empty"
	CodeConflict               Code = "conflict"
	CodeStateConflict          Code = "state_conflict"
	CodeIdempotencyConflict    Code = "idempotency_conflict"
	CodeUploadMissing          Code = "upload_missing"
	CodeVersionConflict        Code = "version_conflict"
	CodePayloadTooLarge        Code = "payload_too_large"
	CodeUnsupportedMediaType   Code = "unsupported_media_type"
	CodeQuotaExceeded          Code = "quota_exceeded"
	CodeRateLimited            Code = "rate_limited"
	CodeInternalError          Code = "internal_error"
	CodeUnavailable            Code = "unavailable"
	CodeStorageFull            Code = "storage_full"
)

// A CodeEntry is one line of the catalogue: a code, its HTTP status, and the default message.
type CodeEntry struct {
	Code   Code
	Status int
	Hint   string
}

// Catalogue lists every code, in the order of their statuses.
var Catalogue = []CodeEntry{
	{CodeInvalidQuery, 400, "Correct the body or the query; the message names the field."},
	{CodeAtlasWorkspaceMismatch, 400, "The atlas belongs to another workspace: leave workspaceId out, or name the " +
		"workspace of the atlas."},
	{CodeSecretDetected, 400, "The text holds a credential or a private key: remove it, or send secrets: \"redact\"."},
	{CodeMissingAPIKey, 401, "Send the header Authorization: Bearer <API key>."},
	{CodeInvalidKey, 401, "The credential is not known here: check it, or make a new one."},
	{CodeRevoked, 403, "The credential was revoked: use another one."},
	{CodeForbidden, 403, "Your role does not permit this: ask an owner or admin of the workspace."},
	{CodeInsufficientScope, 403, "The token was not granted this: ask for a wider grant."},
	{CodeNotFound, 404, "There is no such thing within your reach: check the id and the workspace."},
	{CodeMethodNotAllowed, 405, "The path does not have this method: see the Allow header."},
	{CodeWorkspaceNotEmpty, 409, "The workspace still holds atlases: delete them first."},
	{CodeConflict, 409, "It exists already: choose another name or address."},
	{CodeStateConflict, 409, "The state of the resource does not allow this: read it again."},
	{CodeIdempotencyConflict, 409, "The Idempotency-Key was used for another request: choose a new one."},
	{CodeUploadMissing, 409, "The object was not uploaded: PUT it to its upload address first."},
	{CodeVersionConflict, 412, "The resource has changed since you read it: read it again and repeat."},
	{CodePayloadTooLarge, 413, "The body is larger than 1 MiB: send less at a time."},
	{CodeUnsupportedMediaType, 415, "Send the body as Content-Type: application/json."},
	{CodeQuotaExceeded, 429, "The plan has no room for this: see usage and limits in the status of the account."},
	{CodeRateLimited, 429, "Too many requests: wait for Retry-After seconds."},
	{CodeInternalError, 500, "Something failed on our side: try again, and name the requestId when you report it."},
	{CodeUnavailable, 503, "The service is busy: try again after Retry-After seconds."},
	{CodeStorageFull, 507, "The disk of the server is full: tell its operator."},
}

// entry returns the line of c; an unknown code counts as an internal error without a hint.
func (c Code) entry() CodeEntry {
	for _, e := range Catalogue {
		if e.Code == c {
			return e
		}
	}
	return CodeEntry{Status: 500}
}

// Status returns the HTTP status of c; an unknown code counts as an internal error.
func (c Code) Status() int { return c.entry().Status }

// Hint returns the catalogue's hint for c.
func (c Code) Hint() string { return c.entry().Hint }

// An Error is a failure for the caller. Message says how to correct the call; Err, the cause, is logged and never sent.
type Error struct {
	Code       Code
	Message    string
	RetryAfter time.Duration // how long to wait before a retry; 0 means unknown
	Err        error
}

// A ForeignResponseError is the cause of an Error for a response that is not Loci's: a proxy answered in its place.
type ForeignResponseError struct{}

func (ForeignResponseError) Error() string { return "check the address and any proxy before it." }

func (e *Error) Error() string {
	// otherwise the message has the cause
	if e.Err != nil && !strings.HasSuffix(e.Message, e.Err.Error()) {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return string(e.Code) + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// NewError returns an Error whose message is the catalogue's hint.
func NewError(code Code) *Error { return &Error{Code: code, Message: code.Hint()} }

// Errorf returns an Error with a message of its own.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError returns the Error in err's chain. Any other error becomes an internal one, and its text is not sent.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternalError, Message: CodeInternalError.Hint(), Err: err}
}

// Is reports whether err is an Error with this code.
func Is(err error, code Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}
