package hook

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwaitEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got, err := await(parseTime, errSlow, func() (int, error) { time.Sleep(time.Minute); return 7, nil })
		if took := time.Since(began); got != 0 || !errors.Is(err, errSlow) || took != parseTime {
			t.Errorf("%d %v after %v", got, err, took)
		}
		time.Sleep(time.Minute) // the call still runs
	})
}

func TestDeadlineKeepsTheTimeOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRun(Options{CallTime: CallTime}, nil)
		for _, c := range []struct{ spent, left time.Duration }{{0, CallTime}, {slack, CallTime},
			{slack + CallTime/2, CallTime / 2}, {slack + CallTime, 0}} {
			time.Sleep(time.Until(r.began.Add(c.spent)))
			if left := time.Until(r.deadline()); left != c.left {
				t.Errorf("after %v the calls have %v, want %v", c.spent, left, c.left)
			}
		}
	})
}

func TestAwaitReturnsResultsAndPanicsAsErrors(t *testing.T) {
	t.Parallel()
	got, err := await(time.Hour, errSlow, func() (int, error) { return 7, errMissed })
	if got != 7 || err != errMissed {
		t.Errorf("%d %v", got, err)
	}
	if _, err := await(time.Hour, errSlow, func() (int, error) { panic("a hook") }); err != errPanic {
		t.Errorf("a panic gives %v", err)
	}
}
