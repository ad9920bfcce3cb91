package files

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestLimiterRefusesFurtherTransfers(t *testing.T) {
	t.Parallel()
	l := newLimiter(64)
	newID := func() loci.ID { return loci.NewID(time.Now()) }
	one, ann := newID(), newID()
	var begun []transfer
	network := limit.Subnet("192.0.2.1")
	begin := func(file, owner loci.ID, want bool) {
		t.Helper()
		x, err := l.begin(file, owner, network, func() { t.Error("a transfer is stopped") })
		if ok := err == nil; ok != want || !ok && (!loci.Is(err, loci.CodeUnavailable) ||
			loci.AsError(err).RetryAfter != busy.RetryAfter) {
			t.Fatalf("%v, want %v", err, want)
		}
		if err == nil {
			begun = append(begun, x)
			x.wait()
		}
	}
	for range maxOfAttachment {
		begin(one, ann, true)
	}
	begin(one, ann, false)
	for range 16 - maxOfAttachment {
		begin(newID(), ann, true)
	}
	begin(newID(), ann, false)
	for i, owner := range []loci.ID{newID(), newID(), newID()} {
		if i == 1 {
			begin(newID(), owner, false) // two owners hold the part of the network
			network = limit.Subnet("198.51.100.1")
		}
		for range 16 {
			begin(newID(), owner, true)
		}
	}
	network = limit.Subnet("203.0.113.1")
	begin(newID(), newID(), false)
	begun[0].end()
	begin(newID(), newID(), true)
	begin(one, newID(), false) // its place was given to another file
	for _, x := range begun {
		x.end()
	}
	begin(one, ann, true)
}

// TestDownloadLosesPlaceWhenClientStalls fills the share of an owner by clients that read nothing, and by one that
// reads. Those that read nothing lose their places to further ones after stallTimeout.
func TestDownloadLosesPlaceWhenClientStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 100 * partSize
		owner, l, stopped := loci.NewID(time.Now()), newLimiter(16), make(chan string, 16)
		server, listener := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			out := newPacedWriter(w, time.Now)
			x, err := l.begin(loci.NewID(time.Now()), owner, limit.Subnet("192.0.2.1"), out.stop)
			if err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			defer x.end()
			out.check, out.waits = func() error { return nil }, x.wait
			http.ServeContent(out, r, "", time.Time{}, strings.NewReader(strings.Repeat("x", size)))
			if out.end() != nil {
				stopped <- r.URL.Path
				panic(http.ErrAbortHandler)
			}
		})}, make(testenv.PipeListener)
		go server.Serve(listener)
		defer server.Close()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return listener.Dial(), nil
		}}
		defer transport.CloseIdleConnections()
		download := func(path string, want int) io.ReadCloser {
			t.Helper()
			res := testenv.Must((&http.Client{Transport: transport}).Get("http://loci.test" + path))(t)
			testenv.Equal(t, res.StatusCode, want, path)
			return res.Body
		}
		reading := download("/reading", 200)
		for _, path := range []string{"/a", "/b", "/c"} {
			defer download(path, 200).Close()
		}
		download("/early", 503).Close()
		for range 20 {
			testenv.Must(io.CopyN(io.Discard, reading, 2*partSize))(t)
			time.Sleep(stallTimeout / 10)
		}
		for _, path := range []string{"/d", "/e", "/f"} {
			defer download(path, 200).Close()
			if got := <-stopped; got != "/a" && got != "/b" && got != "/c" {
				t.Errorf("%s has lost its place", got)
			}
		}
		download("/late", 503).Close()
		testenv.Equal(t, testenv.Must(io.Copy(io.Discard, reading))(t), size-40*partSize, "bytes more")
	})
}
