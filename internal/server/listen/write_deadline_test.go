package listen

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serveWithDeadline serves answers of 64 MiB, more than the buffers of a
// connection, and returns the result of each write.
func serveWithDeadline(t *testing.T, wait time.Duration) (address string, ended <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ends, body := make(chan error, 10), make([]byte, 64<<20)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			io.WriteString(w, "small")
			return
		}
		if r.URL.Path == "/copy" {
			_, err := io.Copy(w, strings.NewReader(string(body)))
			ends <- err
			return
		}
		_, err := w.Write(body)
		ends <- err
	})}
	go srv.Serve(deadlineListener{l, wait})
	t.Cleanup(func() { srv.Close() })
	return l.Addr().String(), ends
}

func request(t *testing.T, address, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	return c
}

func TestWriteDeadlineClosesConnectionWhenClientStalls(t *testing.T) {
	t.Parallel()
	address, ended := serveWithDeadline(t, 100*time.Millisecond)
	for _, path := range []string{"/", "/copy"} {
		request(t, address, path)
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: an answer that nobody reads is written", path)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s: the answer is still being written", path)
		}
	}
}

// TestWriteDeadlineIsExtendedWhileClientReads reads for longer than the timeout.
func TestWriteDeadlineIsExtendedWhileClientReads(t *testing.T) {
	t.Parallel()
	const wait = 2 * time.Second
	address, ended := serveWithDeadline(t, wait)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	began := time.Now()
	for b := make([]byte, 128<<10); time.Since(began) < 3*wait/2; time.Sleep(wait / 20) {
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
	}
	go io.Copy(io.Discard, c)
	if err := <-ended; err != nil {
		t.Errorf("a slow reader loses its answer: %v", err)
	}
}

// TestWriteDeadlineDoesNotCloseIdleConnection sends a second request after a pause.
func TestWriteDeadlineDoesNotCloseIdleConnection(t *testing.T) {
	t.Parallel()
	address, _ := serveWithDeadline(t, 50*time.Millisecond)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	for range 3 {
		r, err := client.Get("http://" + address + "/small")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r.Body); err != nil || string(b) != "small" {
			t.Errorf("%q, %v", b, err)
		}
		r.Body.Close()
		time.Sleep(100 * time.Millisecond)
	}
}
