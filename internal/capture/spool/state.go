package spool

import (
	"encoding/json"
	"os"
	"time"

	"github.com/loci-memory/loci"
)

const stateFile = "state.json"

// A state is what a spool knows beside its events.
type state struct {
	Done        int64     `json:"done"`    // bytes at the start of the events that are delivered
	Dropped     int64     `json:"dropped"` // events that made room for newer ones
	Refused     int64     `json:"refused"` // events that the server will never accept
	Failures    int       `json:"failures,omitzero"`
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	LastError   *Failure  `json:"lastError,omitzero"`
	LastLoss    time.Time `json:"lastLoss,omitzero"` // when an event was dropped or refused last
}

// A Failure is an error of a delivery, without its text.
type Failure struct {
	Code loci.Code `json:"code"`
	At   time.Time `json:"at"`
}

// loadState returns the state. A damaged one counts as new: then events are delivered twice.
func (s *Spool) loadState() (st state) {
	b, err := os.ReadFile(s.path(stateFile))
	if err != nil || json.Unmarshal(b, &st) != nil {
		return state{}
	}
	return st
}

// saveState replaces the state in one step.
func (s *Spool) saveState(st state) error {
	b, err := json.Marshal(st)
	if err != nil {
		return err
	}
	next := s.path(stateFile + ".new")
	if err := writeFile(next, append(b, '\n')); err != nil {
		return err
	}
	return os.Rename(next, s.path(stateFile))
}

// A Status describes a spool.
type Status struct {
	Waiting          int
	Bytes            int64     // of the waiting events
	Oldest           time.Time // of the waiting events; zero without any
	Dropped, Refused int64
	NextAttempt      time.Time
	LastError        *Failure
	LastLoss         time.Time // when an event was dropped or refused last; zero without any
}

// ReadStatus returns the status of the spool in a folder, which need not exist. It changes nothing.
func ReadStatus(dir string) (Status, error) {
	s := &Spool{dir: dir}
	st := s.loadState()
	out := Status{Dropped: st.Dropped, Refused: st.Refused, NextAttempt: st.NextAttempt, LastError: st.LastError,
		LastLoss: st.LastLoss}
	f, err := s.open()
	if f == nil {
		return out, err
	}
	defer f.Close()
	r := newReader(f, st.Done)
	for {
		e, line, err := r.next()
		if err != nil {
			return out, nil
		}
		if out.Waiting++; out.Waiting == 1 {
			out.Oldest = e.Input.OccurredAt.Std()
		}
		out.Bytes += int64(len(line))
	}
}
