package rest_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

const agentHeaders = authHeader + "\nX-Loci-Actor: agent"

func TestStreamWritesServerSentEvents(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	got := roundTrip(t, url, "GET /v1/events"+agentHeaders)
	want := "retry: 3000\nevent: said\nid: 7\ndata: {\"ok\":true,\"text\":\"one\\ntwo\"}\n\nevent: said\ndata: " +
		"{\"ok\":true,\"text\":\"three\"}\n\n"
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
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for seen := ""; !strings.Contains(seen, "three"); { // flushed before the stream ends
		if seen, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	io.Copy(io.Discard, res.Body)
	<-s.left
}
