package rest_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/testenv"
)

func itoa(n int) string { return strconv.Itoa(n) }

const (
	authHeader = "\nAuthorization: Bearer good"
	jsonHeader = "\nContent-Type: application/json"
)

func TestHandlerWritesOutput(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	for _, c := range []struct {
		send   string
		status int
		body   string
	}{
		{"GET /v1/things/7" + authHeader, 200, `{"ok":true,"id":"7","content":"a < b"}`},
		{"HEAD /v1/things/7" + authHeader, 200, ""},
		{"GET /v1/things/a%20b" + authHeader, 200, `{"ok":true,"id":"a b","content":"a < b"}`},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\n\n" + `{"content":"new","within":{"uri":"u"}}`, 201,
			`{"ok":true,"thing":{"id":"7","content":"new","within":{"uri":"u"}}}`},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\n\n" + `{"content":"known"}`, 200,
			`{"ok":true,"thing":{"id":"7","content":"known"}}`},
		{"POST /v1/things/7" + authHeader + "\nContent-Type: Application/JSON; Charset=\"UTF-8\"\n\n" +
			`{"content":"known"}`, 200, `{"ok":true,"thing":{"id":"7","content":"known"}}`},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\nTransfer-Encoding: chunked\n\n" +
			"14\r\n{\"content\":\"chunky\"}\r\n0\r\n\r\n", 201, `{"ok":true,"thing":{"id":"7","content":"chunky"}}`},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\n\n\ufeff" + `{"content":"known"}`, 200,
			`{"ok":true,"thing":{"id":"7","content":"known"}}`},
		{"POST /v1/keys" + authHeader + jsonHeader + "\n\n\ufeff", 201, `{"ok":true,"secret":"k"}`},
		{"POST /v1/keys" + authHeader, 201, `{"ok":true,"secret":"k"}`},
		{"POST /v1/keys" + authHeader + "\nContent-Type: text/plain\nContent-Length: 0", 201,
			`{"ok":true,"secret":"k"}`},
		{"POST /v1/keys" + authHeader + "\nContent-Type: text/plain\nTransfer-Encoding: chunked\n\n0\r\n\r\n", 201,
			`{"ok":true,"secret":"k"}`},
		{"DELETE /v1/things/7" + authHeader, 200, `{"ok":true}`},
		{"DELETE /v1/things/7" + authHeader + jsonHeader + "\n\n{}", 200, `{"ok":true}`},
		{"PUT /v1/settings?workspace_id=w" + authHeader + jsonHeader + "\n\n" + `{"quiet":false}`, 200,
			`{"ok":true,"workspace_id":"w","quiet":false}`},
		{"POST /v1/settings/reset" + authHeader, 202, `{"ok":true}`},
		{"PUT /v1/settings" + authHeader + jsonHeader + "\n\n" + `{"extra":{"b":[null,1.0],"a":{}}}`, 200,
			`{"ok":true,"extra":{"a":{},"b":[null,1.0]}}`},
		{"PUT /v1/settings" + authHeader, 200, `{"ok":true}`},
		{"GET /v1/things?query=a+b%26c&kinds=fact,note&limit=5" + authHeader, 200,
			`{"ok":true,"things":[],"query":"a b&c"}`},
		{"GET /v1/things?&query=x&" + authHeader, 200, `{"ok":true,"things":[],"query":"x"}`},
		{"GET /v1/things\nAuthorization: bEARER   good", 200, `{"ok":true,"things":[],"query":""}`},
		{"GET /v1/things\nCookie: a=b; __Host-loci=fresh", 200, `{"ok":true,"things":[],"query":""}`},
		{"GET /health\nAuthorization: Basic !!", 200,
			`{"ok":true,"service":"loci","version":"1.2.3","contract":"0.8.3"}`},
		{"GET /page/x", 200, "page"},
	} {
		got := roundTrip(t, url, c.send)
		if got.StatusCode != c.status || got.text != c.body {
			t.Errorf("%s\n got %d %s\nwant %d %s", c.send, got.StatusCode, got.text, c.status, c.body)
		}
		if got.Header.Get("X-Request-Id") == "" || got.Header.Get("X-Content-Type-Options") != "nosniff" ||
			got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", c.send, got.Header)
		}
	}
}

func TestHandlerWritesErrors(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	big := strings.Repeat(" ", 1<<20)
	for _, c := range []struct {
		send   string
		status int
		code   string
		hint   string
	}{
		// the path is checked first
		{"GET /v1/nothing" + authHeader, 404, "not_found", "route"},
		{"GET //v1/things", 404, "not_found", "route"},
		{"GET /v1/./things" + authHeader, 404, "not_found", "route"},
		{"GET /v1/x/../things" + authHeader, 404, "not_found", "route"},
		{"GET /v1/things/%2e%2e" + authHeader, 404, "not_found", "route"},
		{"GET /v1/things/a%2Fb" + authHeader, 404, "not_found", "route"},
		{"GET /v1/things/7/" + authHeader, 404, "not_found", "route"},
		{"GET /V1/things" + authHeader, 404, "not_found", "route"},
		{"OPTIONS *", 404, "not_found", "route"},
		{"GET /\nAccept: application/json", 404, "not_found", "route"},
		{"POST /v1/things" + authHeader, 405, "method_not_allowed", ""},
		{"OPTIONS /v1/things", 405, "method_not_allowed", ""},
		{"GET /v1/unknown", 404, "not_found", "route: /openapi.json lists them all"},
		{"GET /v1/things/", 404, "not_found", "route: did you mean /v1/things?"},
		{"GET /v1/things/7/", 404, "not_found", "route: did you mean /v1/things/7?"},
		{"GET /v1//things", 404, "not_found", "route: did you mean /v1/things?"},
		{"GET /V1/Things", 404, "not_found", "route: did you mean /v1/things?"},
		{"GET /things", 404, "not_found", "route: did you mean /v1/things?"},
		{"GET /api/v1/things", 404, "not_found", "route: did you mean /v1/things?"},
		{"GET /v1/health", 404, "not_found", "route: did you mean /health?"},
		{"GET /v1/thing", 404, "not_found", "route: did you mean /v1/things?"},
		{"POST /v1/auth/logon", 404, "not_found", "route: did you mean /v1/auth/login?"},
		{"GET /v1/things/%3Cb%3E/", 404, "not_found", "route: /openapi.json lists them all"},
		{"GET /v1/thing/" + strings.Repeat("7", 300), 404, "not_found", "route: /openapi.json lists them all"},
		{"POST /v1/things", 405, "method_not_allowed", "use GET or HEAD"},
		// the credential is checked before the body
		{"POST /v1/things/7\nContent-Type: text/plain\n\n{", 401, "missing_api_key", ""},
		{"POST /v1/things/7\nAuthorization: Bearer bad\nContent-Type: text/plain\n\n{", 401, "invalid_key", ""},
		{"POST /v1/things/7\nAuthorization: Bearer bad\n\n" + big + " ", 401, "invalid_key", ""},
		{"GET /v1/things\nAuthorization: Bearer", 401, "missing_api_key", ""},
		{"GET /v1/things\nAuthorization: Bearer ", 401, "missing_api_key", ""},
		{"GET /v1/things\nAuthorization: Token good", 401, "missing_api_key", ""},
		{"GET /v1/things\nAuthorization: good", 401, "missing_api_key", ""},
		{"GET /v1/things\nAuthorization: Basic x\nCookie: __Host-loci=fresh", 401, "missing_api_key", ""},
		{"GET /v1/things" + authHeader + authHeader, 401, "missing_api_key", ""},
		{"GET /v1/things?api_key=good", 401, "missing_api_key", ""},
		{"GET /v1/things\nCookie: __Host-loci=stale", 401, "invalid_key", ""},
		{"GET /v1/things\nCookie: loci_session=fresh", 401, "missing_api_key", ""},
		// the actor header
		{"GET /v1/things" + authHeader + "\nX-Loci-Actor: robot", 400, "invalid_query", "actor"},
		{"GET /v1/things" + authHeader + "\nX-Service-Actor:", 400, "invalid_query", "actor"},
		{"GET /v1/things" + authHeader + "\nX-Loci-Actor: agent\nX-Service-Actor: Agent", 400, "invalid_query",
			"actor"},
		{"GET /v1/things" + authHeader + "\nX-Loci-Agent-Id: agt_1", 400, "invalid_query", "agent id"},
		{"POST /v1/auth/login\nX-Loci-Agent-Id:" + jsonHeader + "\n\n{}", 400, "invalid_query", "agent id"},
		// the type is checked before the size, the size before the contents
		{"POST /v1/things/7" + authHeader + "\nContent-Type: text/plain\n\n{" + big, 415, "unsupported_media_type", ""},
		{"POST /v1/things/7" + authHeader + "\nContent-Type: text/plain\nTransfer-Encoding: " +
			"chunked\n\n1\r\n{\r\n0\r\n\r\n", 415, "unsupported_media_type", ""},
		{"POST /v1/things/7" + authHeader + "\n\n{}", 415, "unsupported_media_type", ""},
		{"POST /v1/things/7" + authHeader + jsonHeader + jsonHeader + "\n\n{}", 415, "unsupported_media_type", ""},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\nContent-Encoding: gzip\n\n{}", 415,
			"unsupported_media_type", "compressed: send it as it is, without Content-Encoding"},
		{"POST /v1/things/7" + authHeader + jsonHeader + "; charset=latin1\n\n{}", 415, "unsupported_media_type",
			"UTF-8"},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\nContent-Encoding: Identity\n\n{}", 400, "invalid_query",
			""},
		{"POST /v1/things/7" + authHeader + "\nContent-Type: application/jsonl\n\n{}", 415, "unsupported_media_type",
			""},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\n\n{" + big, 413, "payload_too_large", ""},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\nTransfer-Encoding: chunked\n\n100001\r\n{" + big +
			"\r\n0\r\n\r\n", 413, "payload_too_large", ""},
		{"POST /v1/auth/login" + jsonHeader + "\n\n{" + big[:65536], 413, "payload_too_large", "64 KiB"},
		{"POST /v1/auth/login" + jsonHeader + "\nTransfer-Encoding: chunked\n\n10001\r\n{" + big[:65536] +
			"\r\n0\r\n\r\n",
			413, "payload_too_large", "64 KiB"},
		{"POST /v1/auth/login" + jsonHeader + "\n\n{" + big[:65535], 400, "invalid_query", ""},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\n\n" + `{"content":7}` + big[13:], 400, "invalid_query",
			"content"},
		{"DELETE /v1/things/7" + authHeader + "\nContent-Type: text/plain\n\n{", 415, "unsupported_media_type", ""},
		{"DELETE /v1/things/7" + authHeader + jsonHeader + "\n\n" + `{"thingId":"8"}`, 400, "invalid_query", "thingId"},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\n\n[]", 400, "invalid_query", ""},
		{"POST /v1/things/7" + authHeader + jsonHeader + "\nTransfer-Encoding: chunked\n\nnonsense\r\n", 400,
			"invalid_query", "too early"},
		// path and query
		{"GET /v1/things/%ff" + authHeader, 404, "not_found", ""},
		{"GET /v1/things/a%00b" + authHeader, 404, "not_found", ""},
		{"GET /v1/things?limit=1&limit=2" + authHeader, 400, "invalid_query", "limit is given twice"},
		{"GET /v1/things?limit=1;query=x" + authHeader, 400, "invalid_query", "&"},
		{"GET /v1/things?query=%zz" + authHeader, 400, "invalid_query", "%25"},
		{"GET /v1/things?query=%ff" + authHeader, 400, "invalid_query", "UTF-8"},
		{"GET /v1/things?limt=1" + authHeader, 400, "invalid_query", `"limit"`},
		{"GET /v1/things?limit=101" + authHeader, 400, "invalid_query", "100"},
		{"GET /v1/things/7?thingId=8" + authHeader, 400, "invalid_query", "thingId"},
		{"PUT /v1/settings?workspaceId=w" + authHeader, 400, "invalid_query", `did you mean "workspace_id"`},
		{"PUT /v1/settings?quiet=true" + authHeader, 400, "invalid_query", `unknown field "quiet"`},
		{"PUT /v1/settings" + authHeader + jsonHeader + "\n\n" + `{"workspace_id":"w"}`, 400, "invalid_query",
			`unknown field "workspace_id"`},
		{"POST /v1/settings" + authHeader, 405, "method_not_allowed", ""},
		// errors of the operation
		{"GET /v1/things?query=busy" + authHeader, 429, "rate_limited", "Try again in 3 seconds."},
		{"GET /v1/things?query=broken" + authHeader, 500, "internal_error", ""},
		{"GET /v1/things?query=panic" + authHeader, 500, "internal_error", ""},
		{"GET /v1/events?query=refused" + authHeader + "\nX-Loci-Actor: agent", 404, "not_found", ""},
		{"GET /v1/events" + authHeader, 403, "forbidden", "X-Loci-Actor"},
	} {
		got := roundTrip(t, url, c.send)
		short := c.send[:min(120, len(c.send))]
		if code := got.code(t); got.StatusCode != c.status || code != c.code ||
			!strings.Contains(got.text, strings.ReplaceAll(c.hint, `"`, `\"`)) {
			t.Errorf("%s\n got %d %s\nwant %d %s with %q", short, got.StatusCode, got.text, c.status, c.code, c.hint)
		}
		if strings.Contains(got.text, "of ours") {
			t.Errorf("%s tells what is inside: %s", short, got.text)
		}
		if strings.Contains(c.send, "Bearer good") && !strings.Contains(c.code, "api_key") && c.hint != "route" &&
			c.status != 405 && got.Header.Get("RateLimit-Remaining") != "9" {
			t.Errorf("%s: no quota in %v", short, got.Header)
		}
		challenge := map[int]string{401: "Bearer"}[c.status]
		if c.code == "invalid_key" && strings.Contains(c.send, "Authorization") {
			challenge = `Bearer error="invalid_token"`
		}
		testenv.Equal(t, got.Header.Get("WWW-Authenticate"), challenge, short)
	}
}

func TestMethodNotAllowedListsAllowedMethods(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	for line, allow := range map[string]string{
		"PUT /v1/things/7":     "GET, HEAD, POST, PATCH, DELETE",
		"POST /v1/things":      "GET, HEAD",
		"GET /v1/auth/login":   "POST",
		"DELETE /health":       "GET, HEAD",
		"BREW /v1/things":      "GET, HEAD",
		"POST /openapi.json":   "GET, HEAD",
		"CONNECT /v1/things/7": "GET, HEAD, POST, PATCH, DELETE",
	} {
		if got := roundTrip(t, url, line); got.StatusCode != 405 || got.Header.Get("Allow") != allow {
			t.Errorf("%s: %d, Allow: %q, want %q", line, got.StatusCode, got.Header.Get("Allow"), allow)
		}
	}
}

func TestQuotaHeadersRoundSecondsUp(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	got := roundTrip(t, url, "GET /v1/things/7"+authHeader).Header
	if got.Get("RateLimit-Limit") != "10" || got.Get("RateLimit-Remaining") != "9" ||
		got.Get("RateLimit-Reset") != "91" {
		t.Errorf("%v", got)
	}
	testenv.Equal(t, roundTrip(t, url, "GET /health"+authHeader).Header.Get("RateLimit-Limit"), "",
		"a quota where nobody was admitted")
	for query, wait := range map[string]string{"busy": "3", "used%20up": "91", "down": "1", "full": "60",
		"broken": ""} {
		testenv.Equal(t, roundTrip(t, url, "GET /v1/things?query="+query+authHeader).Header.Get("Retry-After"), wait,
			"Retry-After", query)
	}
}

func TestRequestIDIsKeptWhenValid(t *testing.T) {
	t.Parallel()
	s, url := serve(t)
	fresh := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7`)
	for _, id := range []string{"a", "req-1_2.X", strings.Repeat("x", 128)} {
		if got := roundTrip(t, url, "GET /v1/nothing\nX-Request-Id: "+id); got.Header.Get("X-Request-Id") != id ||
			!strings.Contains(got.text, `"requestId":"`+id+`"`) {
			t.Errorf("%s became %s", id, got.Header.Get("X-Request-Id"))
		}
	}
	for _, id := range []string{"", "a b", "a<b", "\xe4", strings.Repeat("x", 129), "a\nX-Request-Id: b"} {
		if got := roundTrip(t, url, "GET /v1/things/7"+authHeader+"\nX-Request-Id: "+
			id).Header.Get("X-Request-Id"); !fresh.MatchString(got) || s.lastCall().RequestID != got {
			t.Errorf("%q became %q, and the call has %q", id, got, s.lastCall().RequestID)
		}
	}
}

func TestIfNoneMatchReturnsNotModified(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	for sent, status := range map[string]int{
		`"7-1"`: 304, `W/"7-1"`: 304, `"x", "7-1"`: 304, `*`: 304, "\"x\"\nIf-None-Match: \"7-1\"": 304,
		`"7-2"`: 200, `7-1`: 200, `w/"7-1"`: 200, ``: 200,
	} {
		got := roundTrip(t, url, "GET /v1/things/7"+authHeader+"\nIf-None-Match: "+sent)
		if got.StatusCode != status || got.Header.Get("ETag") != `"7-1"` || (status == 304) != (got.text == "") ||
			got.Header.Get("RateLimit-Limit") != "10" {
			t.Errorf("%s: %d %v %s", sent, got.StatusCode, got.Header, got.text)
		}
	}
	if got := roundTrip(t, url, "GET /openapi.json\nIf-None-Match: *"); got.StatusCode != 304 || got.text != "" {
		t.Errorf("the document: %d", got.StatusCode)
	}
	testenv.Equal(t, roundTrip(t, url, "POST /v1/things/7"+authHeader+jsonHeader+"\nIf-None-Match: *\n\n"+
		`{"content":"x"}`).StatusCode, http.StatusCreated, "a POST")
}

func TestCallCarriesHeaders(t *testing.T) {
	t.Parallel()
	s, url := serve(t)
	roundTrip(t, url, "POST /v1/things/7"+authHeader+
		"\nX-Service-Actor: agent\nIdempotency-Key: k 1\nIf-Match: \"a\", \"b\"\nOrigin: https://evil.example")
	c := s.lastCall()
	if c.Transport != "rest" || c.Credential != "good" || c.CredentialKind != "" || c.ActorHeader != "agent" ||
		c.AgentIDSent || !c.CrossOrigin || c.Address != "127.0.0.1" || c.IdempotencyKey != "k 1" ||
		c.IfMatch != `"a", "b"` {
		t.Errorf("%+v", c)
	}
	roundTrip(t, url, "POST /v1/things/7"+authHeader+"\nIf-Match:\nIdempotency-Key:")
	if c := s.lastCall(); c.IfMatch != `""` || c.IdempotencyKey != "" || c.IdempotencyKeyCount != 1 {
		t.Errorf("empty headers: %+v", c)
	}
	for headers, foreign := range map[string]bool{
		"": false, "\nOrigin: https://app.example.org": true,
		"\nOrigin: https://app.example.org\nSec-Fetch-Site: same-site":   true,
		"\nOrigin: https://loci.example.org\nSec-Fetch-Site: cross-site": false,
		"\nOrigin: http://loci.test":                                     false, "\nOrigin: null": true,
		"\nSec-Fetch-Site: cross-site": true, "\nSec-Fetch-Site: same-origin": false,
	} {
		if roundTrip(t, url, "POST /v1/keys\nCookie: __Host-loci=fresh"+headers); s.lastCall().CrossOrigin != foreign ||
			s.lastCall().CredentialKind != identity.CredentialCookie {
			t.Errorf("%q: foreign is %v", headers, s.lastCall().CrossOrigin)
		}
	}
	if roundTrip(t, url, "GET /v1/things"+authHeader+"\nOrigin: https://evil.example"); s.lastCall().CrossOrigin {
		t.Error("reading is never foreign")
	}
}

// A header with one meaning must not be repeated: no value of several is used.
func TestRepeatedHeadersAreRejected(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	body := jsonHeader + "\n\n" + `{"content":"x"}`
	for send, status := range map[string]int{
		"POST /v1/things/7" + authHeader + "\nIdempotency-Key: a\nIdempotency-Key: b" + body:                   400,
		"POST /v1/things/7" + authHeader + "\nIdempotency-Key: a\nIdempotency-Key: a" + body:                   400,
		"POST /v1/things/7" + authHeader + "\nIdempotency-Key: a\nIdempotency-Key:" + body:                     400,
		"POST /v1/things/7" + authHeader + "\nIdempotency-Key: a" + body:                                       201,
		"PATCH /v1/things/7" + authHeader + "\nIf-Match: \"a\"\nIf-Match: \"b\"" + body:                        200,
		"PATCH /v1/things/7" + authHeader + "\nIf-Match: *\nIf-Match:" + body:                                  200,
		"PATCH /v1/things/7" + authHeader + "\nIf-Match: \"a\", \"b\"" + body:                                  200,
		"PATCH /v1/things/7" + authHeader + "\nIdempotency-Key: a\nIdempotency-Key: b" + body:                  200,
		"GET /v1/things/7" + authHeader + "\nIf-Match: a\nIf-Match: b\nIdempotency-Key: a":                     200,
		"POST /v1/things/7" + authHeader + authHeader + body:                                                   401,
		"POST /v1/things/7" + authHeader + jsonHeader + body:                                                   415,
		"POST /v1/things/7" + authHeader + "\nX-Loci-Actor: agent\nX-Loci-Actor: human" + body:                 400,
		"POST /v1/things/7\nIdempotency-Key: a\nIdempotency-Key: b" + body:                                     401,
		"POST /v1/things/7" + authHeader + "\nIdempotency-Key: a\nIdempotency-Key: b\n\n":                      400,
		"POST /v1/auth/login\nIdempotency-Key: a\nIdempotency-Key: b" + jsonHeader + "\n\n" + `{"name":"ann"}`: 200,
	} {
		if got := roundTrip(t, url, send); got.StatusCode != status {
			t.Errorf("%s: %d %s", send, got.StatusCode, got.text)
		}
	}
}

func TestCookieAttributes(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	if got := roundTrip(t, url, "POST /v1/auth/login"+jsonHeader+"\n\n"+
		`{"name":"ann"}`); got.Header.Get("Set-Cookie") !=
		"__Host-loci=s3cret; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax" ||
		strings.Contains(got.text, "s3cret") {
		t.Errorf("%v %s", got.Header, got.text)
	}
	testenv.Equal(t, roundTrip(t, url, "POST /v1/auth/logout"+authHeader).Header.Get("Set-Cookie"),
		"__Host-loci=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax")
	if got := roundTrip(t, url, "POST /v1/auth/login"+jsonHeader+"\nSec-Fetch-Site: cross-site\n\n"+
		`{"name":"ann"}`); got.code(t) != "forbidden" || got.Header.Get("Set-Cookie") != "" {
		t.Errorf("a foreign page signs in: %d", got.StatusCode)
	}
}

func TestCORSAllowsOnlyConfiguredOrigins(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	asks := "\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: authorization"
	mine := "\nOrigin: https://app.example.org"
	for send, status := range map[string]int{"GET /v1/things" + authHeader: 200, "GET /v1/things": 401,
		"GET /v1/nothing": 404, "GET /health": 200, "OPTIONS /v1/things" + asks: 204} {
		got := roundTrip(t, url, send+mine)
		preflight := strings.HasPrefix(send, "OPTIONS")
		if got.StatusCode != status || got.Header.Get("Access-Control-Allow-Origin") != "https://app.example.org" ||
			!strings.HasPrefix(got.Header.Get("Vary"), "Origin") ||
			preflight != strings.Contains(got.Header.Get("Access-Control-Allow-Headers"), "authorization") ||
			preflight != strings.Contains(got.Header.Get("Access-Control-Allow-Headers"),
				"mcp-method, mcp-name, mcp-protocol-version, mcp-session-id") ||
			preflight != strings.Contains(got.Header.Get("Access-Control-Allow-Methods"), "PATCH") ||
			preflight == strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), "ETag") {
			t.Errorf("%s: %d %v", send, got.StatusCode, got.Header)
		}
		for _, other := range []string{"https://evil.example", "https://app.example.org.evil.example",
			"http://app.example.org", "null"} {
			got := roundTrip(t, url, send+"\nOrigin: "+other)
			for name := range got.Header {
				if strings.HasPrefix(name, "Access-Control") {
					t.Errorf("%s from %s: %s", send, other, name)
				}
			}
			testenv.Equal(t, got.Header.Get("Vary"), "Origin", send, other)
		}
	}
}

func TestLargeResponsesWaitWhenOthersAreUnread(t *testing.T) {
	t.Parallel()
	o := options(&fakeService{})
	o.ResponseLimiter = httpapi.NewResponseLimiter()
	h := rest.New(o)
	ask := func(query string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", "/v1/things?query="+query, nil), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer good")
		h.ServeHTTP(w, r)
		return w
	}
	end, err := o.ResponseLimiter.Acquire(t.Context(), "ann", 1<<30, true) // nothing is in its way
	if err != nil {
		t.Fatal(err)
	}
	if w := ask("large"); w.Code != 503 || w.Header().Get("Retry-After") != "2" ||
		w.Header().Get("RateLimit-Limit") == "" ||
		!strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("a large answer: %d %v %s", w.Code, w.Header(), w.Body)
	}
	testenv.Equal(t, ask("small").Code, 200, "a small answer")
	end()
	for range 3 {
		if w := ask("large"); w.Code != 200 || w.Body.Len() < 100_000 {
			t.Errorf("a large answer afterwards: %d", w.Code)
		}
	}
}

func TestCallHasAddressBehindTrustedProxy(t *testing.T) {
	t.Parallel()
	s := &fakeService{}
	r := httptest.NewRequest("GET", "/v1/things", nil)
	r.RemoteAddr = "10.0.0.1:5"
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	if rest.New(options(s)).ServeHTTP(httptest.NewRecorder(), r); s.lastCall().Address != "203.0.113.9" {
		t.Errorf("the address is %s", s.lastCall().Address)
	}
}

func TestCORSFollowsThePolicyOfTheRoute(t *testing.T) {
	t.Parallel()
	o := options(&fakeService{})
	o.ExtraRoutes = []httpapi.Route{
		{Pattern: "GET /{$}", Handler: httpapi.StaticJSON([]byte("{}")), CORS: httpapi.CORSNone},
		{Pattern: "GET /public", Handler: httpapi.StaticJSON([]byte("{}")), CORS: httpapi.CORSAny},
		{Pattern: "/extra", Handler: httpapi.StaticJSON([]byte("{}"))},
	}
	configured := rest.New(o)
	o.Origins = httpapi.NewOrigins("")
	closed := rest.New(o)
	const known, unknown = "https://app.example.org", "https://evil.example"
	for _, c := range []struct {
		handler            http.Handler
		path, origin, want string
	}{
		{configured, "/", known, ""}, {configured, "/extra", known, known}, {configured, "/extra", unknown, ""},
		{configured, "/public", known, "*"}, {configured, "/public", unknown, "*"}, {closed, "/public", unknown, "*"},
		{closed, "/extra", known, ""}, {closed, "/", known, ""},
	} {
		for method, status := range map[string]int{"GET": 200, "OPTIONS": 204} {
			r, w := httptest.NewRequest(method, c.path, nil), httptest.NewRecorder()
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Access-Control-Request-Method", "GET")
			c.handler.ServeHTTP(w, r)
			got := w.Header().Get("Access-Control-Allow-Origin")
			if got != c.want || c.want != "" && w.Code != status {
				t.Errorf("%s %s from %s: %d, %q, want %q", method, c.path, c.origin, w.Code, got, c.want)
			}
		}
	}
}

const agentHeaders = authHeader + "\nX-Loci-Actor: agent"

func TestStreamWritesServerSentEvents(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	got := roundTrip(t, url, "GET /v1/events"+agentHeaders)
	want := "retry: 3000\nevent: said\nid: 7\ndata: {\"text\":\"one\\ntwo\"}\n\nevent: said\ndata: " +
		"{\"text\":\"three\"}\n\n"
	if got.StatusCode != 200 || got.text != want {
		t.Errorf("%d %q", got.StatusCode, got.text)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
		"Content-Encoding": "", "Content-Length": "", "RateLimit-Limit": "10",
	} {
		testenv.Equal(t, got.Header.Get(name), value, name)
	}
}

func TestStreamWritesErrorBeforeFirstEvent(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	if got := roundTrip(t, url, "GET /v1/events?query=early"+agentHeaders); got.StatusCode != 503 ||
		got.code(t) != "unavailable" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := roundTrip(t, url, "GET /v1/events?query=late"+agentHeaders); got.StatusCode != 200 ||
		strings.Contains(got.text, "three") || strings.Contains(got.text, "lost") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestStreamIsEmptyWithoutEvents(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	if got := roundTrip(t, url, "GET /v1/events?query=silent"+agentHeaders); got.StatusCode != 200 ||
		got.Header.Get("Content-Type") != "text/event-stream" || strings.Contains(got.text, "data") {
		t.Errorf("%d %v %q", got.StatusCode, got.Header, got.text)
	}
	if got := roundTrip(t, url, "HEAD /v1/events"+agentHeaders); got.StatusCode != 200 ||
		got.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", got.StatusCode, got.Header)
	}
}

func TestStreamEndsWhenClientLeaves(t *testing.T) {
	t.Parallel()
	s, url := serve(t)
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	r := testenv.Must(http.NewRequestWithContext(ctx, "GET", url+"/v1/events?query=forever", nil))(t)
	r.Header = http.Header{"Authorization": {"Bearer good"}, "X-Loci-Actor": {"agent"}}
	res := testenv.Must(testenv.Transport.RoundTrip(r))(t)
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for seen := ""; !strings.Contains(seen, "three"); { // flushed before the stream ends
		seen = testenv.Must(lines.ReadString('\n'))(t)
	}
	leave()
	io.Copy(io.Discard, res.Body)
	<-s.left
}
