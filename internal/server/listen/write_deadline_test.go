package listen

import (
	"bytes"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A slowConn accepts what is written after a pause, until its deadline.
type slowConn struct {
	tcpConn
	pause    time.Duration
	deadline time.Time
	got      bytes.Buffer
	files    int // calls of ReadFrom
}

func (c *slowConn) Write(p []byte) (int, error) {
	if time.Sleep(c.pause); time.Now().After(c.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return c.got.Write(p)
}

func (c *slowConn) ReadFrom(r io.Reader) (int64, error) {
	c.files++
	return c.got.ReadFrom(r)
}

func (c *slowConn) SetWriteDeadline(t time.Time) error { c.deadline = t; return nil }

// A connListener has one connection.
type connListener struct {
	net.Listener
	c net.Conn
}

func (l connListener) Accept() (net.Conn, error) { return l.c, nil }

func accept(t *testing.T, slow *slowConn) net.Conn {
	t.Helper()
	c, err := withWriteDeadlines(connListener{c: slow}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var writes = map[string]func(c net.Conn, text string) (int64, error){
	"write": func(c net.Conn, text string) (int64, error) {
		n, err := c.Write([]byte(text))
		return int64(n), err
	},
	"copy": func(c net.Conn, text string) (int64, error) {
		return c.(io.ReaderFrom).ReadFrom(io.LimitReader(strings.NewReader(text), int64(len(text))))
	},
}

func TestWriteDeadlineEndsConnectionWhenClientStalls(t *testing.T) {
	t.Parallel()
	for name, write := range writes {
		synctest.Test(t, func(t *testing.T) {
			slow := &slowConn{pause: 2 * writeTimeout}
			if n, err := write(accept(t, slow), "text"); n != 0 || err == nil {
				t.Errorf("%s: %d bytes are written: %v", name, n, err)
			}
		})
	}
}

func TestWriteDeadlineIsExtendedWhileClientReads(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", writeChunk)
	for name, write := range writes {
		synctest.Test(t, func(t *testing.T) {
			slow := &slowConn{pause: writeTimeout * 9 / 10}
			if n, err := write(accept(t, slow), text); int(n) != len(text) || err != nil || slow.got.String() != text {
				t.Errorf("%s: %d bytes are written: %v", name, n, err)
			}
		})
	}
}

// TestWriteDeadlineDoesNotEndIdleConnection writes after long pauses.
func TestWriteDeadlineDoesNotEndIdleConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := accept(t, &slowConn{pause: time.Second})
		for range 3 {
			if _, err := c.Write([]byte("answer")); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * writeTimeout)
		}
	})
}

// TestLaterWriteDeadlineOfHandlerStays sends a file, and an answer after it.
func TestLaterWriteDeadlineOfHandlerStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, later := &slowConn{}, time.Now().Add(time.Hour)
		c := accept(t, slow)
		if err := c.SetWriteDeadline(later); err != nil {
			t.Fatal(err)
		}
		for _, write := range writes {
			if _, err := write(c, "text"); err != nil || !slow.deadline.Equal(later) {
				t.Errorf("%v, the deadline is %v", err, slow.deadline)
			}
		}
		if slow.files != 1 || slow.got.String() != "texttext" {
			t.Errorf("%d files, %q", slow.files, slow.got.String())
		}
	})
}
