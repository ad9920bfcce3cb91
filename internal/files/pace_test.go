package files

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// A sink takes each part after a pause. It keeps the sizes of the parts and the deadline of its connection.
type sink struct {
	http.ResponseWriter
	pause    time.Duration
	parts    []int64
	deadline time.Time
}

func (s *sink) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }

func (s *sink) ReadFrom(r io.Reader) (int64, error) {
	if time.Sleep(s.pause); time.Now().After(s.deadline) {
		return 0, errors.New("the client is too slow")
	}
	n, err := io.Copy(io.Discard, r)
	s.parts = append(s.parts, n)
	return n, err
}

// text returns what http.ServeContent copies of a file.
func text(parts int) io.Reader {
	all := strings.Repeat("x", parts*partSize)
	return io.LimitReader(strings.NewReader(all), int64(len(all)))
}

func TestDownloadHasTimeForEachPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		moved int64
		pause time.Duration
		ends  bool
	}{{0, 0, false}, {0, time.Second, false}, {0, firstTimeout * 8 / 10, false}, {0, firstTimeout * 2, true},
		{firstBytes, firstTimeout * 2, false}, {firstBytes, partTimeout * 8 / 10, false},
		{firstBytes, partTimeout * 2, true}} {
		synctest.Test(t, func(t *testing.T) {
			pause, ends, s, checks := c.pause, c.ends, &sink{pause: c.pause}, 0
			w, waits := newPacedWriter(s, time.Now), 0
			w.check, w.waits, w.moved = func() error { checks++; return nil }, func() { waits++ }, c.moved
			n, err := w.ReadFrom(text(10))
			if ends != (err != nil) || !ends && (n != 10*partSize || len(s.parts) != 10) {
				t.Errorf("a part in %v: %d bytes in %d parts, %v", pause, n, len(s.parts), err)
			}
			if !ends {
				testenv.Equal(t, waits, 10, "waits")
			}
			testenv.Equal(t, checks, map[bool]int{true: 9}[pause > 0 && !ends], "checks of a part in", pause)
		})
	}
}

func TestDownloadEndsWhenCheckRefusesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deleted := errors.New("it is deleted")
		w := newPacedWriter(&sink{pause: checkInterval / 2}, time.Now)
		w.check, w.waits = func() error { return deleted }, func() {}
		if n, err := w.ReadFrom(text(10)); n != 2*partSize || !errors.Is(err, deleted) || !errors.Is(w.err, deleted) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}
