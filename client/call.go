package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/loci-memory/loci"
)

// A CallOption says something about one call beside its input.
type CallOption func(*exchange)

// An exchange is one call on its way.
type exchange struct {
	method string
	url    string
	body   []byte
	header http.Header
	answer *http.Header
}

// IdempotencyKey makes a POST safe to repeat: the server answers a second call
// with the same key as it did the first, and the client may try it again.
func IdempotencyKey(key string) CallOption { return header("Idempotency-Key", key) }

// IfMatch lets a change happen only while the record has this entity tag.
func IfMatch(tag string) CallOption { return header("If-Match", tag) }

// RequestID names the call in the server's log and in its answer.
func RequestID(id string) CallOption { return header("X-Request-Id", id) }

// AsAgent says that a trusted agent makes the call, not the person.
func AsAgent() CallOption { return header("X-Loci-Actor", "agent") }

// Answered puts the header of the answer into h: ETag, X-Request-Id,
// Idempotency-Replayed.
func Answered(h *http.Header) CallOption { return func(x *exchange) { x.answer = h } }

func header(name, value string) CallOption {
	return func(x *exchange) {
		if value != "" {
			x.header.Set(name, value)
		}
	}
}

// call runs an operation: route is "METHOD /path" with the fields of the path
// in braces.
func call[Out any](ctx context.Context, c *Client, route string, in any, options []CallOption) (out Out, err error) {
	given, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	method, path, _ := strings.Cut(route, " ")
	raw, err := c.Call(ctx, method, path, given, options...)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, &loci.Error{Code: loci.InternalError, Message: "The answer of the server cannot be read: is it newer than this program?", Err: err}
	}
	return out, nil
}

// Call sends a flat JSON object to where its fields belong. Those that pattern
// has in braces go into the path; of GET and DELETE the others go into the
// query, where a list repeats its name; of every other method they are the body.
// It returns the answer's JSON object.
func (c *Client) Call(ctx context.Context, method, pattern string, in []byte, options ...CallOption) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(in, &fields); err != nil {
		return nil, loci.Fail(loci.InvalidQuery, "the input must be a JSON object")
	}
	path := pattern
	for name, value := range fields {
		if place := "{" + name + "}"; strings.Contains(pattern, place) {
			path = strings.ReplaceAll(path, place, segment(name, text(value)))
			delete(fields, name)
		}
	}
	if method != http.MethodGet && method != http.MethodDelete {
		body, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		return c.Do(ctx, method, path, nil, body, options...)
	}
	query := make(url.Values, len(fields))
	for name, value := range fields {
		query[name] = texts(value)
	}
	return c.Do(ctx, method, path, query, nil, options...)
}

// segment escapes the segment of a path that is the field of that name. An id
// that is none could be a word of another route, /v1/memories/context, or a step
// up: it becomes one that no record has, and the server says that nothing is
// found, as it does of any such id.
func segment(name, s string) string {
	if strings.HasSuffix(name, "Id") && !loci.ValidID(s) || strings.Trim(s, ".") == "" {
		return "-"
	}
	return url.PathEscape(s)
}

// texts writes a JSON value as the values of one name in a query: those of a
// list one by one, where a comma within an item is written \,.
func texts(raw json.RawMessage) []string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' {
		return []string{text(raw)}
	}
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items) // it was read as JSON before
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = strings.ReplaceAll(text(item), ",", `\,`)
	}
	return out
}

// text writes a JSON value that is no list as a query or a path has it.
func text(raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '"' {
		return string(raw)
	}
	var s string
	_ = json.Unmarshal(raw, &s) // it was read as JSON before
	return s
}
