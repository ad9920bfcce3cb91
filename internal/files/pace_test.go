package files

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A deadlineWriter keeps the deadlines of its connection.
type deadlineWriter struct {
	http.ResponseWriter
	read, write time.Time
}

func (w *deadlineWriter) SetReadDeadline(t time.Time) error  { w.read = t; return nil }
func (w *deadlineWriter) SetWriteDeadline(t time.Time) error { w.write = t; return nil }
func (w *deadlineWriter) Write(p []byte) (int, error)        { return len(p), nil }

// A drip has n bytes at each read, after a pause, until the deadline of its connection.
type drip struct {
	n     int
	pause time.Duration
	w     *deadlineWriter
}

func (d drip) Read(p []byte) (int, error) {
	if time.Sleep(d.pause); time.Now().After(d.w.read) {
		return 0, os.ErrDeadlineExceeded
	}
	return min(d.n, len(p)), nil
}

func (drip) Close() error { return nil }

func TestUploadLastsWhileItMovesAKilobyteASecond(t *testing.T) {
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
			w, start, ended := &deadlineWriter{}, time.Now(), time.Duration(0)
			b := newPacedBody(w, &http.Request{Body: drip{c.bytes, c.pause, w}})
			for time.Since(start) < 10*time.Minute && ended == 0 {
				if _, err := b.Read(room); err != nil {
					ended = time.Since(start)
				}
			}
			if ended != c.ends {
				t.Errorf("%s: ends after %v, want %v", name, ended, c.ends)
			}
		})
	}
}

func TestDownloadHasTimeForEachPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, checks := &deadlineWriter{}, 0
		p := newPacedWriter(w, func() error { checks++; return nil })
		for range 10 {
			if n, err := p.Write([]byte(strings.Repeat("x", 3*partSize))); n != 3*partSize || err != nil {
				t.Fatal(n, err)
			}
			if left := time.Until(w.write); left < partTimeout*9/10-time.Second {
				t.Errorf("%v are left", left)
			}
			time.Sleep(time.Second)
		}
		if checks < 8 || checks > 10 {
			t.Errorf("%d checks in 10 seconds", checks)
		}
	})
}

// A sink takes each part after a pause, and keeps its size.
type sink struct {
	deadlineWriter
	pause time.Duration
	parts []int64
}

func (s *sink) ReadFrom(r io.Reader) (int64, error) {
	time.Sleep(s.pause)
	n := r.(*io.LimitedReader).N
	s.parts = append(s.parts, n)
	return n, nil
}

func TestFastClientGetsLargeParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause   time.Duration
		last    int64
		timeout time.Duration
	}{
		"fast": {time.Millisecond, fastPart, fastTimeout},
		"slow": {50 * time.Millisecond, partSize, partTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sink{pause: c.pause}
			p := newPacedWriter(s, func() error { return nil })
			if n, err := p.ReadFrom(&io.LimitedReader{N: 16 << 20}); n != 16<<20 || err != nil {
				t.Fatal(n, err)
			}
			if first, last := s.parts[0], s.parts[len(s.parts)-1]; first != partSize || last != c.last {
				t.Errorf("%s: parts of %d to %d bytes", name, first, last)
			}
			if left := time.Until(s.write); left > c.timeout || left < c.timeout*9/10-time.Second {
				t.Errorf("%s: %v are left", name, left)
			}
		})
	}
}
