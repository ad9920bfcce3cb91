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
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// MaxResponse is the most bytes of an answer that are read: a page of 100
// memories of 256 KiB fits.
const MaxResponse = 64 << 20

// roundTrip sends one request and returns the body of a 2xx answer; everything else
// is a *loci.Error. path begins with a slash and is escaped. It tries again
// what was refused for now (429, 503), and after a broken connection what is
// safe to repeat: a GET, or a call with an Idempotency-Key.
func (c *Client) roundTrip(ctx context.Context, method, path string, query url.Values, body []byte,
	options ...CallOption) ([]byte, error) {
	x := &request{method: method, url: c.baseURL + path, body: body, header: http.Header{}}
	if len(query) > 0 {
		x.url += "?" + query.Encode()
	}
	for _, o := range options {
		o(x)
	}
	for try := 1; ; try++ {
		answer, retryable, err := c.send(ctx, x)
		if err == nil || !retryable || try >= c.maxTries || !c.backOff(ctx, try, err) {
			return answer, err
		}
	}
}

// backOff waits before the next try; false means that there shall be none. A
// server says how long; else it is .25 s, doubled with each try, less up to a half.
func (c *Client) backOff(ctx context.Context, try int, err error) bool {
	wait := loci.AsError(err).RetryAfter
	if wait == 0 {
		wait = min(250*time.Millisecond<<try/2, c.maxBackoff)
		wait -= time.Duration(rand.Int64N(int64(wait)/2 + 1))
	}
	if end, ok := ctx.Deadline(); wait > c.maxBackoff || ok && time.Until(end) < wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// send tries once; again tells whether another try may do better and no harm.
func (c *Client) send(ctx context.Context, x *request) (answer []byte, retryable bool, err error) {
	idempotent := x.method == http.MethodGet || x.header.Get("Idempotency-Key") != ""
	req, err := c.newHTTPRequest(ctx, x)
	if err != nil {
		return nil, false, loci.NewError(loci.CodeInvalidQuery, "the request cannot be made: %v", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, idempotent && ctx.Err() == nil, c.unreachableError(ctx, err)
	}
	defer res.Body.Close()
	if x.responseHeader != nil {
		*x.responseHeader = res.Header
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, MaxResponse+1))
	switch {
	case err != nil:
		return nil, idempotent && ctx.Err() == nil, c.unreachableError(ctx, err)
	case len(answer) > MaxResponse:
		return nil, false, loci.NewError(loci.CodePayloadTooLarge,
			"the answer is larger than %d MiB: ask for less at a time", MaxResponse>>20)
	case res.StatusCode/100 == 2:
		return bytes.TrimSpace(answer), false, nil
	}
	serverErr, fromLoci := c.decodeError(res, answer)
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
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if len(x.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req, nil
}

// unreachableError tells that there was no whole answer, without what was asked.
func (c *Client) unreachableError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &loci.Error{Code: loci.CodeUnavailable, Message: fmt.Sprintf("%s cannot be reached: %v", c.baseURL, err),
		Err: err}
}

// decodeError rebuilds the error of an answer; ours tells that Loci itself wrote it.
func (c *Client) decodeError(res *http.Response, body []byte) (e *loci.Error, fromLoci bool) {
	var p struct {
		Code    loci.Code `json:"code"`
		Message string    `json:"message"`
	}
	e = &loci.Error{RetryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now())}
	if json.Unmarshal(body, &p) == nil && p.Code != "" {
		e.Code, e.Message = p.Code, p.Message
		return e, true
	}
	e.Code = codeOfStatus(res.StatusCode)
	e.Message = fmt.Sprintf("%s answered %s, and not as Loci does: check the address and what stands before it.",
		c.baseURL, res.Status)
	if to := res.Header.Get("Location"); res.StatusCode/100 == 3 && to != "" {
		e.Message = fmt.Sprintf("%s sends to %.200s: use that address.", c.baseURL, to)
	}
	return e, false
}

// codeOfStatus is the nearest code for the status of an answer that has none.
func codeOfStatus(status int) loci.Code {
	if status == http.StatusBadGateway || status == http.StatusGatewayTimeout {
		return loci.CodeUnavailable
	}
	for _, e := range loci.Catalogue {
		if e.Status == status {
			return e.Code
		}
	}
	return loci.CodeInternalError
}

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3); 0 says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
