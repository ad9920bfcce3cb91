package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/retryafter"
)

// MaxResponse bounds the bytes of a response: a page of 100 memories of 256 KiB fits.
const MaxResponse = 64 << 20

// roundTrip sends one request and returns the body of a 2xx response; any other response is a *loci.Error. path begins
// with a slash and is escaped. It retries temporary refusals (429, 503). After a broken connection it retries safe
// requests: a GET, a PUT, or a call with an Idempotency-Key.
func (c *Client) roundTrip(ctx context.Context, method, path string, query url.Values, body []byte,
	options ...CallOption) ([]byte, error) {
	x := &request{method: method, url: c.baseURL + path, body: body, header: http.Header{},
		takesFileToken: strings.HasPrefix(path, storagePath)}
	if len(query) > 0 {
		x.url += "?" + query.Encode()
	}
	for _, o := range options {
		o(x)
	}
	if err := c.authorize(ctx, x, ""); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		answer, retryable, err := c.sendAuthorized(ctx, x)
		if err == nil || !retryable || try >= c.maxTries || !c.backOff(ctx, try, err) {
			return answer, err
		}
	}
}

// backOff waits before a retry; false means not to retry. The server sets the
// pause; otherwise it is .25 s, doubled with each attempt, less up to a half.
func (c *Client) backOff(ctx context.Context, try int, err error) bool {
	wait := loci.AsError(err).RetryAfter
	if wait == 0 {
		wait = min(250*time.Millisecond<<try/2, c.maxBackoff)
		wait -= time.Duration(rand.Int64N(int64(wait)/2 + 1))
	}
	if end, ok := ctx.Deadline(); wait > c.maxBackoff || ok && time.Until(end) < wait {
		return false
	}
	return contextio.Sleep(ctx, wait)
}

// authorize sets the credential of a request. rejected is the token that the server has refused, or "".
func (c *Client) authorize(ctx context.Context, x *request, rejected string) (err error) {
	x.credential = c.key
	if x.takesFileToken {
		x.credential, err = c.fileToken.get(ctx, c, rejected)
		return err
	}
	if c.tokens == nil {
		return nil
	}
	if x.credential, err = c.tokens(ctx, rejected); err == nil && !isHeaderSafe(x.credential) {
		err = loci.Errorf(loci.CodeInvalidQuery, "the token source returned an invalid character")
	}
	return err
}

// sendAuthorized makes one attempt, and another one with a new token if the server refuses the first token.
func (c *Client) sendAuthorized(ctx context.Context, x *request) (answer []byte, retryable bool, err error) {
	answer, retryable, err = c.send(ctx, x)
	if c.tokens == nil && !x.takesFileToken || x.reauthorized || !loci.Is(err, loci.CodeInvalidKey) {
		return answer, retryable, err
	}
	x.reauthorized = true
	if err := c.authorize(ctx, x, x.credential); err != nil {
		return nil, false, err
	}
	return c.send(ctx, x)
}

// send makes one attempt; retryable reports whether a retry may help and is safe.
func (c *Client) send(ctx context.Context, x *request) (answer []byte, retryable bool, err error) {
	idempotent := x.repeatable || x.method == http.MethodGet || x.method == http.MethodPut ||
		x.header.Get("Idempotency-Key") != ""
	req, err := c.newHTTPRequest(ctx, x)
	if err != nil {
		return nil, false, loci.Errorf(loci.CodeInvalidQuery, "the request cannot be made: %v", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, idempotent && ctx.Err() == nil, unreachableError(ctx, c.baseURL, err)
	}
	defer res.Body.Close()
	if x.responseHeader != nil {
		*x.responseHeader = res.Header
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, MaxResponse+1))
	switch {
	case err != nil:
		return nil, idempotent && ctx.Err() == nil, unreachableError(ctx, c.baseURL, err)
	case len(answer) > MaxResponse:
		return nil, false, loci.Errorf(loci.CodePayloadTooLarge,
			"the answer is larger than %d MiB: request less at a time", MaxResponse>>20)
	case res.StatusCode/100 == 2:
		return bytes.TrimSpace(answer), false, nil
	}
	serverErr, fromLoci := decodeError(res, c.baseURL, answer)
	temporary := res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable
	return nil, temporary && (fromLoci || idempotent) || idempotent && res.StatusCode == http.StatusBadGateway,
		serverErr
}

func (c *Client) newHTTPRequest(ctx context.Context, x *request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, x.method, x.url, bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	for name, values := range x.header {
		if strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("%s contains a control character", name)
		}
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if len(x.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if x.credential != "" {
		req.Header.Set("Authorization", "Bearer "+x.credential)
	}
	return req, nil
}

// unreachableError returns the error for an incomplete response, without the request.
func unreachableError(ctx context.Context, server string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &loci.Error{Code: loci.CodeUnavailable, Message: fmt.Sprintf("%s cannot be reached: %v", server, err),
		Err: err}
}

// decodeError decodes the error of a response; fromLoci reports whether Loci itself wrote it.
func decodeError(res *http.Response, server string, body []byte) (e *loci.Error, fromLoci bool) {
	var p struct {
		Code    loci.Code `json:"code"`
		Message string    `json:"message"`
	}
	e = &loci.Error{RetryAfter: retryafter.Parse(res.Header.Get("Retry-After"), time.Now())}
	if json.Unmarshal(body, &p) == nil && p.Code != "" {
		e.Code, e.Message = p.Code, p.Message
		return e, true
	}
	e.Code, e.Err = codeOfStatus(res.StatusCode), loci.ForeignResponseError{}
	e.Message = fmt.Sprintf("%s answered %s, and not as Loci does: check the address and any proxy before it.",
		server, res.Status)
	if to := res.Header.Get("Location"); res.StatusCode/100 == 3 && to != "" {
		e.Message = fmt.Sprintf("%s redirects to %.200s: use that address.", server, to)
	}
	return e, false
}

// codeOfStatus returns the nearest code for the status of a response without a code.
func codeOfStatus(status int) loci.Code {
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return loci.CodeUnavailable
	case http.StatusForbidden: // a proxy knows nothing of a key
		return loci.CodeForbidden
	}
	for _, e := range loci.Catalogue {
		if e.Status == status {
			return e.Code
		}
	}
	return loci.CodeInternalError
}
