package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A CallOption changes one call, beside its input.
type CallOption func(*request)

// A request is one call in progress.
type request struct {
	method         string
	url            string
	body           []byte
	header         http.Header
	responseHeader *http.Header
	onReconnect    func(error, time.Duration)
	credential     string // key, access token or file token
	takesFileToken bool
	reauthorized   bool // the server refused one token of the call
	repeatable     bool // a second request does no harm
}

// IdempotencyKey makes a POST safe to repeat. The server returns the stored response for a second call with the same
// key, and the client may retry it.
func IdempotencyKey(key string) CallOption { return withHeader("Idempotency-Key", key) }

// IfMatch makes a change conditional: the record must have this entity tag.
func IfMatch(tag string) CallOption { return withHeader("If-Match", tag) }

// RequestID sets the id of the call in the server's log and in its response.
func RequestID(id string) CallOption { return withHeader("X-Request-Id", id) }

// AsAgent marks the call as made by the trusted agent of the key, not by the person. Operations for agents alone need
// no such option.
func AsAgent() CallOption { return withHeader("X-Loci-Actor", "agent") }

// asAgent returns the options of an operation for agents.
func asAgent(options []CallOption) []CallOption { return append(slices.Clip(options), AsAgent()) }

// WithResponseHeader stores the header of the response in h: ETag, X-Request-Id, Idempotency-Replayed.
func WithResponseHeader(h *http.Header) CallOption { return func(x *request) { x.responseHeader = h } }

func withHeader(name, value string) CallOption {
	return func(x *request) {
		if value != "" {
			x.header.Set(name, value)
		}
	}
}

// do runs an operation: route is "METHOD /path" or "METHOD /path?fields", as Do reads it.
func do[Out any](ctx context.Context, c *Client, route string, in any, options []CallOption) (out Out, err error) {
	given, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	method, path, _ := strings.Cut(route, " ")
	raw, err := c.Do(ctx, method, path, given, options...)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, unreadableError(err)
	}
	return out, nil
}

// unreadableError returns the error for an answer of another form.
func unreadableError(err error) error {
	return &loci.Error{Code: loci.CodeInternalError,
		Message: "The answer of the server cannot be read: update this program if the server is newer.", Err: err}
}

// Do sends a flat JSON object as the fields of a request. Fields in braces in pattern become parts of the path. For GET
// and DELETE the others become the query, where a list repeats its name. For other methods they become the body, except
// for those that pattern names after a question mark, separated by commas. It returns the JSON object of the response.
func (c *Client) Do(ctx context.Context, method, pattern string, in []byte, options ...CallOption) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(in, &fields); err != nil {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "the input must be a JSON object")
	}
	pattern, names, _ := strings.Cut(pattern, "?")
	hasBody := method != http.MethodGet && method != http.MethodDelete
	path, inQuery, query := pattern, strings.Split(names, ","), url.Values{}
	for name, value := range fields {
		place := "{" + name + "}"
		switch {
		case strings.Contains(pattern, place):
			path = strings.ReplaceAll(path, place, pathSegment(queryValue(value)))
		case !hasBody || slices.Contains(inQuery, name):
			query[name] = queryValues(value)
		default:
			continue
		}
		delete(fields, name)
	}
	var body []byte
	if hasBody {
		var err error
		if body, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	return c.roundTrip(ctx, method, path, query, body, options...)
}

// pathSegment returns the path segment for an id: every field of a path is one. An invalid id could be a literal of
// another route, /v1/memories/context, or a step up. It becomes an id that no record has: the server answers not found.
func pathSegment(id string) string {
	if !loci.ID(id).Valid() {
		return "-"
	}
	return id
}

// queryValues writes a JSON value as the values of one name in a query. A list has one value for each item, in which a
// comma is written \,.
func queryValues(raw json.RawMessage) []string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' {
		return []string{queryValue(raw)}
	}
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items) // it was read as JSON before
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = strings.ReplaceAll(queryValue(item), ",", `\,`)
	}
	return out
}

// queryValue writes a JSON value other than a list as a query or path value.
func queryValue(raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '"' {
		return string(raw)
	}
	var s string
	_ = json.Unmarshal(raw, &s) // it was read as JSON before
	return s
}
