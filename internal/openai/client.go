package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Client sends requests to one endpoint of a service.
type Client struct {
	endpoint, host, key string
	timeout             time.Duration // of a request
	maxResponse         int           // bytes
	http                *http.Client
}

// New returns a client of an endpoint, whose key may be empty. Responses of more than maxResponse bytes are errors.
func New(endpoint *url.URL, key string, timeout time.Duration, maxResponse int) *Client {
	return &Client{timeout: timeout, endpoint: endpoint.String(), host: endpoint.Host, key: key,
		maxResponse: maxResponse,
		http: &http.Client{
			// A redirect could send key and texts to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
}

// Endpoint returns the address of requests to a route, such as /embeddings. A path that ends with the route is used
// unchanged; to another path, such as /v1, the route is appended. Without a path it is /v1 and the route.
func Endpoint(address, route string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		// err would show the address
		return nil, errors.New("must be an address like https://api.openai.com/v1, without user and query")
	}
	u.Host = strings.ToLower(u.Host)
	if u.Path = strings.TrimRight(u.Path, "/"); u.Path == "" {
		u.Path = "/v1"
	}
	if !strings.HasSuffix(u.Path, route) {
		u.Path += route
	}
	u.RawPath = ""
	return u, nil
}

// CheckKey rejects a key that no header can contain, without showing it.
func CheckKey(key string) error {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return errors.New("contains an invalid character: copy the key again")
		}
	}
	return nil
}

// Host returns the host of the service, for messages.
func (c *Client) Host() string { return c.host }

// Address returns the address of the endpoint.
func (c *Client) Address() string { return c.endpoint }

// Post sends in as JSON and returns the body of a response with status 200. It makes one attempt; its errors of the
// service are Errors.
func (c *Client) Post(ctx context.Context, in any) ([]byte, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.newRequest(limited, body)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, int64(c.maxResponse)+1))
	switch {
	case err != nil:
		return nil, transportError(ctx, err)
	case res.StatusCode != http.StatusOK:
		return nil, statusError(res, answer)
	case len(answer) > c.maxResponse:
		return nil, &Error{MayHaveRun: true, error: fmt.Errorf("answers with more than %s", size(c.maxResponse))}
	}
	return answer, nil
}

func size(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

func (c *Client) newRequest(ctx context.Context, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("cannot be asked: the address is malformed")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "loci")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req, nil
}
