package listen

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/limit"
)

// An endlessListener always has a connection.
type endlessListener struct{ net.Listener }

func (endlessListener) Accept() (net.Conn, error) { return nil, nil }
func (endlessListener) Close() error              { return nil }

func TestLimitListenerWaitsForClosedConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		srv := &http.Server{}
		a := newLimitListener(endlessListener{}, most, srv)
		for range most {
			if _, err := a.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		accepted := make(chan error, 1)
		accept := func() { _, err := a.Accept(); accepted <- err }
		for _, state := range []http.ConnState{http.StateClosed, http.StateHijacked} {
			go accept()
			time.Sleep(time.Hour)
			select {
			case err := <-accepted:
				t.Fatal("a connection beyond the limit: ", err)
			default:
			}
			c := &deadlineConn{share: newConnShare(a.shares.Add(limit.Key{}, nil))}
			srv.ConnState(c, http.StateIdle)
			srv.ConnState(c, state)
			if err := <-accepted; err != nil {
				t.Fatal(err)
			}
		}
		go accept()
		synctest.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := <-accepted; !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed listener: %v", err)
		}
	})
}

// TestIdleConnectionsMakeRoom takes all connections, of which half stay idle after a request.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	s := startServer(t, 4, time.Hour)
	for i := range 2 {
		if closes, err := s.mustDial(t).call(fmt.Sprint("/idle/", i)); err != nil || closes {
			t.Fatal(closes, err)
		}
	}
	held := s.mustDial(t)
	defer s.release()
	if err := held.send("/held", "{}"); err != nil {
		t.Fatal(err)
	}
	<-s.held
	for i := range 3 { // the last of four connections, which closes itself, and one in place of each idle one
		c := s.mustDial(t)
		if err := c.send(fmt.Sprint("/new/", i), "{"); err != nil {
			t.Fatal(err)
		}
		for seen := false; !seen; time.Sleep(time.Millisecond) {
			_, seen = s.seen.Load(fmt.Sprint("/new/", i))
		}
		defer func() {
			if _, err := c.Write([]byte("}")); err != nil {
				t.Error(err)
			}
			if closes, err := c.answer(); err != nil || i == 0 && !closes {
				t.Errorf("a connection beside few free ones: closes %v, %v", closes, err)
			}
		}()
	}
}
