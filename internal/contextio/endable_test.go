package contextio

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestEndWaitsForARunningRead(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	e, read := NewEndable(from), make(chan string)
	go func() {
		b := make([]byte, 9)
		n, _ := e.Read(b)
		read <- string(b[:n])
	}()
	if _, err := to.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "first" {
		t.Errorf("%q", got)
	}
	e.End()
	if n, err := e.Read(make([]byte, 9)); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

func TestReaderBelongsToItsCallerAfterTheEnd(t *testing.T) {
	t.Parallel()
	from := strings.NewReader(strings.Repeat("x", 1<<20))
	e := NewEndable(from)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, e) // the race detector sees a Read after End
	}()
	e.End()
	if _, err := io.Copy(io.Discard, from); err != nil {
		t.Error(err)
	}
	<-done
}
