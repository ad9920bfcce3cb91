package dispatch

import "sync"

// signals wake one stream, and end it.
type signals struct {
	woken, ended chan struct{}
	endOnce      func()
}

func newSignals() signals {
	s := signals{woken: make(chan struct{}, 1), ended: make(chan struct{})}
	s.endOnce = sync.OnceFunc(func() { close(s.ended) })
	return s
}

// Woken receives a value when there is perhaps something new.
func (s *signals) Woken() <-chan struct{} { return s.woken }

// Ended is closed when the credential has ended.
func (s *signals) Ended() <-chan struct{} { return s.ended }

// HasEnded reports whether the credential has ended: then nothing more is sent.
func (s *signals) HasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *signals) signal() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}
