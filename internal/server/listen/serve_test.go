package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestShutdownFinishesAcceptedRequests stops servers while clients keep
// connections alive, open new ones and wait for slow answers.
func TestShutdownFinishesAcceptedRequests(t *testing.T) {
	t.Parallel()
	const enough = 100 // requests, before a server is stopped
	var served, closing atomic.Int64
	busy := make(chan struct{}, 1) // a request was served
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(20 * time.Millisecond)
		}
		served.Add(1)
		select {
		case busy <- struct{}{}:
		default:
		}
		fmt.Fprint(w, "answer")
	})
	for range 4 {
		before := served.Load()
		l, err := TCP(t.Context(), "127.0.0.1:0", "listen")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- serve(ctx, l, maxConnections, handler, slog.New(slog.DiscardHandler),
				graces{time.Minute, time.Minute}) // clients may be slow
		}()
		var clients sync.WaitGroup
		for i := range 16 {
			path := []string{"/", "/slow"}[i%2]
			clients.Go(func() {
				for {
					c, err := net.Dial("tcp", l.Addr().String())
					if errors.Is(err, syscall.ECONNREFUSED) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					in := bufio.NewReader(c)
					for n := 0; n < 50; n++ {
						answer, err := exchange(c, in, path)
						if err != nil {
							t.Errorf("request %d of a connection: %v", n+1, err)
							break
						}
						if answer.Close {
							closing.Add(1)
							break
						}
					}
					c.Close()
				}
			})
		}
		for served.Load() < before+enough {
			<-busy
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		clients.Wait()
	}
	if closing.Load() == 0 {
		t.Errorf("no response of %d has Connection: close", served.Load())
	}
}

// exchange sends a request that no client library repeats, and reads the answer.
func exchange(c net.Conn, in *bufio.Reader, path string) (*http.Response, error) {
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: loci.test\r\nContent-Length: 2\r\n\r\n{}",
		path); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res, err
}

func TestLimitListenerQueuesConnectionsBeyondLimit(t *testing.T) {
	t.Parallel()
	l, err := TCP(t.Context(), "127.0.0.1:0", "listen")
	if err != nil {
		t.Fatal(err)
	}
	a := newLimitListener(l, 4)
	var open, most atomic.Int64
	srv := &http.Server{Handler: a.closeWhenScarce(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "answer")
	})),
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				for n := open.Add(1); n > most.Load(); {
					most.Store(n)
				}
			case http.StateClosed:
				open.Add(-1)
			}
		}}
	a.closeIdle = func() {
		srv.SetKeepAlivesEnabled(false)
		srv.SetKeepAlivesEnabled(true)
	}
	go srv.Serve(a)
	defer srv.Close()
	var clients sync.WaitGroup
	for range 24 { // each keeps its connection as long as possible
		clients.Go(func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if _, err := exchange(c, bufio.NewReader(c), "/"); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Millisecond)
		})
	}
	clients.Wait()
	if most.Load() > 4 {
		t.Errorf("%d connections at once", most.Load())
	}
	// Idle connections are closed for a new one.
	var idle []net.Conn
	for range 4 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	for _, c := range idle[:2] {
		if _, err := exchange(c, bufio.NewReader(c), "/"); err != nil {
			t.Fatal(err)
		}
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := exchange(c, bufio.NewReader(c), "/"); err != nil {
		t.Errorf("a connection beside idle ones: %v", err)
	}
}
