package httpapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// sendParts opens a connection, and writes the parts of a request with pauses between them.
func sendParts(t *testing.T, to testenv.PipeListener, pause time.Duration, parts ...string) net.Conn {
	t.Helper()
	c := to.Dial()
	var writer sync.WaitGroup
	t.Cleanup(func() { c.Close(); writer.Wait() })
	c.SetDeadline(time.Now().Add(time.Minute))
	writer.Go(func() { // a pipe has no buffer, and the server may answer before it has read all
		for i, part := range parts {
			if i > 0 {
				time.Sleep(pause)
			}
			if _, err := io.WriteString(c, part); err != nil {
				return // it has lost its connection, which the test will see
			}
		}
	})
	return c
}

func serveWithDeadlines(t *testing.T, idle, total time.Duration, h http.HandlerFunc) testenv.PipeListener {
	t.Helper()
	srv, l := &http.Server{Handler: WithBodyDeadlines(h, idle, total)}, make(testenv.PipeListener)
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return l
}

const requestHead = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"

func TestBodyDeadlineClosesConnectionWhenBodyStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		address := serveWithDeadlines(t, 100*time.Millisecond, time.Hour, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		ignored := serveWithDeadlines(t, 100*time.Millisecond, time.Hour, func(http.ResponseWriter, *http.Request) {})
		chunked := strings.Replace(requestHead, "Content-Length: 1000", "Transfer-Encoding: chunked", 1) + "5\r\n"
		for _, c := range []net.Conn{
			sendParts(t, address, 0, requestHead), sendParts(t, address, 0, requestHead+"some"),
			sendParts(t, address, 0, chunked+"so"),
			sendParts(t, ignored, 0, requestHead+"some"),
		} {
			testenv.Equal(t, testenv.ErrorOf(io.ReadAll(c)), nil, "the connection is still open")
		}
	})
}

func TestBodyDeadlineClosesConnectionWhenBodyIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		const total = 100 * time.Millisecond
		address := serveWithDeadlines(t, time.Minute, total, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			ended <- err
		})
		sendParts(t, address, 20*time.Millisecond, append([]string{requestHead},
			strings.Split(strings.Repeat("x", 20), "")...)...)
		if err := <-ended; err == nil {
			t.Error("it was read to its end")
		}
	})
}

// TestBodyDeadlineIsExtendedWhileBodyArrives sends for longer than the wait, and then handles for longer than the wait.
func TestBodyDeadlineIsExtendedWhileBodyArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Second
		address := serveWithDeadlines(t, idle, time.Hour, func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			select {
			case <-time.After(idle * 3 / 2):
			case <-r.Context().Done():
				err = r.Context().Err()
			}
			fmt.Fprintf(w, "%s, %v", b, err)
		})
		parts := []string{strings.Replace(requestHead, "1000", "12", 1)}
		for range 12 {
			parts = append(parts, "x")
		}
		c := sendParts(t, address, idle/8, parts...)
		b := make([]byte, 4096)
		if n, err := c.Read(b); !strings.HasSuffix(string(b[:n]), "xxxxxxxxxxxx, <nil>") {
			t.Errorf("%s, %v", b[:n], err)
		}
	})
}

func TestSetBodyDeadlineBoundsRestOfBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		address := serveWithDeadlines(t, time.Minute, time.Hour, func(w http.ResponseWriter, r *http.Request) {
			SetBodyDeadline(w, r, 50*time.Millisecond)
			_, err := io.ReadAll(r.Body)
			ended <- err
		})
		sendParts(t, address, 0, requestHead+"some")
		if err := <-ended; err == nil {
			t.Error("it was read to its end")
		}
	})
}

// A drip is a connection that has n bytes at each read, after a pause, until its deadline.
type drip struct {
	http.ResponseWriter
	n        int
	pause    time.Duration
	deadline time.Time
}

func (d *drip) SetReadDeadline(t time.Time) error { d.deadline = t; return nil }
func (d *drip) Close() error                      { return nil }

func (d *drip) Read(p []byte) (int, error) {
	if time.Sleep(d.pause); time.Now().After(d.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return min(d.n, len(p)), nil
}

func TestBodyLastsWhileItArrivesAtItsRate(t *testing.T) {
	t.Parallel()
	room := make([]byte, 64<<10)
	for name, c := range map[string]struct {
		bytes int
		pause time.Duration
		ends  time.Duration // after which it is too slow; 0 is never
	}{
		"a byte a second":        {1, time.Second, 31 * time.Second},
		"500 bytes a second":     {500, time.Second, 58 * time.Second},
		"1,100 bytes a second":   {1100, time.Second, 0},
		"nothing for a minute":   {64 << 10, time.Minute, time.Minute},
		"a burst every 20 s":     {30 << 10, 20 * time.Second, 0},
		"six megabytes a second": {64 << 10, 10 * time.Millisecond, 0},
		"a kilobyte every 25 s":  {1 << 10, 25 * time.Second, 50 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var ended time.Duration
			d := &drip{n: c.bytes, pause: c.pause}
			WithBodyDeadlines(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				SetBodyRate(r, 30*time.Second, 1<<10)
				for start := time.Now(); time.Since(start) < 10*time.Minute && ended == 0; {
					if _, err := r.Body.Read(room); err != nil {
						ended = time.Since(start)
					}
				}
			}), time.Second, 2*time.Second).ServeHTTP(d, &http.Request{Body: d})
			testenv.Equal(t, ended, c.ends, name)
		})
	}
}

const pageSize = 4 << 20

func acquire(t *testing.T, f *ByteLimiter, user loci.ID, bytes int) (release func()) {
	t.Helper()
	return testenv.Must(f.Acquire(t.Context(), user, bytes, true))(t)
}

func TestResponseLimiterRejectsWhenQueueIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := NewResponseLimiter()
		defer acquire(t, f, "ann", maxInFlight)()
		var all sync.WaitGroup
		defer all.Wait()
		for range maxWaiting / pageSize {
			all.Go(func() { f.Acquire(context.Background(), "ann", pageSize, true) })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := f.Acquire(t.Context(), "ann", pageSize, true); !loci.Is(err, loci.CodeUnavailable) ||
			time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestResponseLimiterRejectsWhenResponsesAreUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := NewResponseLimiter()
		var ends []func()
		for range maxInFlight / pageSize {
			ends = append(ends, acquire(t, f, "ann", pageSize))
		}
		began := time.Now()
		_, err := f.Acquire(t.Context(), "ann", pageSize, true)
		if e := loci.AsError(err); !loci.Is(err, loci.CodeUnavailable) || e.RetryAfter <= 0 ||
			time.Since(began) != acquireTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		acquire(t, f, "ann", minLimitedSize)()
		acquire(t, f, "bob", pageSize)()
		release, err := f.Acquire(t.Context(), "ann", pageSize, false)
		if err != nil {
			t.Errorf("what was written is refused: %v", err)
		}
		release()
		left, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.Acquire(left, "ann", pageSize, true); err != context.Canceled {
			t.Errorf("a client that left: %v", err)
		}
		for _, release := range ends {
			release()
		}
		testenv.Equal(t, f.bytes.InUse(), 0, "bytes are held")
	})
}

// TestBodyTimeoutBeginsAgainWithProvedCredential sends a body for longer than a public one may take.
func TestBodyTimeoutBeginsAgainWithProvedCredential(t *testing.T) {
	t.Parallel()
	for _, proved := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			read := make(chan error, 1)
			address := serveWithDeadlines(t, 5*time.Second, 10*time.Second, func(_ http.ResponseWriter,
				r *http.Request) {
				if proved {
					SetBodyTimeout(r, time.Minute)
				}
				_, err := io.ReadAll(r.Body)
				read <- err
			})
			parts := []string{requestHead}
			for range 10 {
				parts = append(parts, strings.Repeat("x", 100))
			}
			sendParts(t, address, 2*time.Second, parts...)
			testenv.Equal(t, <-read == nil, proved, "proved")
		})
	}
}
