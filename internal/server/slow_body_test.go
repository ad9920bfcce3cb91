package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
)

// TestSlowBodyIsRejectedWhenCredentialEndsMeanwhile sends the head of a call, ends its credential, and sends the body.
func TestSlowBodyIsRejectedWhenCredentialEndsMeanwhile(t *testing.T) {
	t.Parallel()
	m := newTestTeam(t)
	b := newBrowser(t, m.address, "127.0.0.1")
	if status, _, text := b.postForm("/signin", "email", "ann@example.com", "password", password); status != 200 {
		t.Fatal(status, text)
	}
	u, err := url.Parse(m.address)
	if err != nil {
		t.Fatal(err)
	}
	cookies := b.client.Jar.Cookies(u)
	if len(cookies) != 1 {
		t.Fatal(cookies)
	}
	_, v := callAPI(t, "POST", m.address+"/v1/api-keys", m.key, `{}`)
	stolen, id := v["apiKey"].(string), v["key"].(map[string]any)["id"].(string)
	for _, c := range []struct {
		name, header string
		end          func() (int, map[string]any)
		status       int
	}{
		{"key", "Authorization: Bearer " + stolen, func() (int, map[string]any) {
			return callAPI(t, "DELETE", m.address+"/v1/api-keys/"+id, m.key, "")
		}, http.StatusForbidden},
		{"cookie", "Cookie: " + cookies[0].String(), func() (int, map[string]any) {
			status, _, _ := b.postForm("/signout", "idempotencyKey", "1")
			return status, nil
		}, http.StatusUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /v1/memories HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Type: application/json\r\n"+
				"Content-Length: 15\r\nExpect: 100-continue\r\n\r\n", u.Host, c.header)
			answers := bufio.NewReader(conn)
			expectContinue(t, answers)
			if status, v := c.end(); status >= 300 {
				t.Fatal(status, v)
			}
			time.Sleep(time.Second) // an admission holds that long, by the clock of the machine
			fmt.Fprint(conn, `{"content":"x"}`)
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("%d, want %d", resp.StatusCode, c.status)
			}
		})
	}
}

// expectContinue reads the interim response by which the server begins to read the body of an admitted call.
func expectContinue(t *testing.T, answers *bufio.Reader) {
	t.Helper()
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := answers.ReadString('\n'); line != want || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
}

// TestServerBoundsBodiesOfUserThatHaveNotArrived sends the heads of large requests, and no body.
func TestServerBoundsBodiesOfUserThatHaveNotArrived(t *testing.T) {
	t.Parallel()
	m := newTestTeam(t)
	u, err := url.Parse(m.address)
	if err != nil {
		t.Fatal(err)
	}
	head := func(path, key string) *bufio.Reader {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json"+
			"\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
			path, u.Host, key, httpapi.MaxBody)
		return bufio.NewReader(conn)
	}
	for range 16 {
		expectContinue(t, head("/v1/memories", m.key))
	}
	refused := []*bufio.Reader{head("/v1/memories", m.key), head("/mcp", m.key)}
	m.user("bob@example.com", "")
	k, err := m.admin.CreateKey(t.Context(), "bob@example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	large := `{"content":"` + strings.Repeat("x", 40<<10) + `"}`
	if status, v := callAPI(t, "POST", m.address+"/v1/memories", k.APIKey, large); status != 201 {
		t.Errorf("another user: %d %v", status, v)
	}
	if status, v := callAPI(t, "POST", m.address+"/v1/memories", m.key, `{"content":"x"}`); status != 201 {
		t.Errorf("a small body: %d %v", status, v)
	}
	for _, answers := range refused {
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
	}
}
