package oauthclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retryafter"
)

// MaxResponse bounds the bytes of a document or response of a server.
const MaxResponse = 64 << 10

// requestTimeout is the longest time for one response.
const requestTimeout = 15 * time.Second

// sharedClient returns the HTTP client. It follows no redirect: one could lead to another host.
var sharedClient = sync.OnceValue(func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return &http.Client{Transport: t, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
})

// A response is the response of a server, read to its end.
type response struct {
	status     int
	retryAfter time.Duration
	body       []byte
}

// A statusError is a response other than 2xx. code is the error of OAuth, or "".
type statusError struct {
	err    *loci.Error
	status int
	code   string
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// oauthCode returns the OAuth error code of err, or "".
func oauthCode(err error) string {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.code
	}
	return ""
}

func getJSON(ctx context.Context, address string, out any) error {
	return exchange(ctx, http.MethodGet, address, "", nil, out)
}

func postJSON(ctx context.Context, address string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return exchange(ctx, http.MethodPost, address, "application/json", body, out)
}

func postForm(ctx context.Context, address string, form url.Values, out any) error {
	return exchange(ctx, http.MethodPost, address, "application/x-www-form-urlencoded", []byte(form.Encode()), out)
}

// exchange sends one request and decodes the JSON object of a 2xx response into out, unless out is nil.
func exchange(ctx context.Context, method, address, contentType string, body []byte, out any) error {
	res, err := send(ctx, method, address, contentType, body)
	if err != nil {
		return err
	}
	if res.status/100 != 2 {
		return newStatusError(address, res)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(res.body, out); err != nil {
		return badServer(address, "its response is not the expected JSON")
	}
	return nil
}

func send(ctx context.Context, method, address, contentType string, body []byte) (response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return response{}, loci.Errorf(loci.CodeInvalidQuery, "the request cannot be made: %v", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "loci")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := sharedClient().Do(req)
	if err != nil {
		return response{}, unreachable(ctx, address, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, MaxResponse+1))
	switch {
	case err != nil:
		return response{}, unreachable(ctx, address, err)
	case len(text) > MaxResponse:
		return response{}, badServer(address, "its response has more than 64 KiB")
	}
	return response{res.StatusCode, retryafter.Parse(res.Header.Get("Retry-After"), time.Now()), text}, nil
}

// newStatusError returns the error of a response that is not 2xx.
func newStatusError(address string, res response) error {
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(res.body, &body) // a proxy may have written it
	code := loci.CodeUnavailable
	if res.status == http.StatusTooManyRequests {
		code = loci.CodeRateLimited
	}
	e := loci.Errorf(code, "%s answered %d%s", hostOf(address), res.status, describe(body.Error, body.Description))
	e.RetryAfter = res.retryAfter
	return &statusError{e, res.status, body.Error}
}

// describe returns an error of OAuth and its description for a message, bounded.
func describe(code, description string) string {
	if code == "" {
		return ""
	}
	text := ": " + clip(code, 60)
	if description != "" {
		text += " (" + clip(description, 200) + ")"
	}
	return text
}

// clip returns at most n bytes of a foreign text, in one line.
func clip(text string, n int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "") + "..."
	}
	return text
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return clip(address, 100)
}

// unreachable returns the error for an incomplete response. It does not repeat the address, which has no secret but is
// long.
func unreachable(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &loci.Error{Code: loci.CodeUnavailable, Message: hostOf(address) + " cannot be reached: " + err.Error(),
		Err: err}
}

// badServer returns the error for a server that breaks the protocol.
func badServer(address, why string) error {
	return loci.Errorf(loci.CodeUnavailable, "%s cannot sign you in: %s; check the address and any proxy before it",
		hostOf(address), why)
}
