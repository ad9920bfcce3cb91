package job

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var discard = slog.New(slog.DiscardHandler)

// run starts one job in a bubble of simulated time.
func run(t *testing.T, j Job, test func(t *testing.T, r *Runner, wake func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := New(discard)
		wake := r.Add(j)
		r.Start(t.Context())
		test(t, r, wake)
	})
}

func TestJobRunsAtItsInterval(t *testing.T) {
	t.Parallel()
	rounds := 0
	count := func(context.Context) error { rounds++; time.Sleep(time.Second); return nil }
	run(t, Job{Name: "count", Every: time.Minute, Run: count}, func(t *testing.T, r *Runner, _ func()) {
		start := time.Now()
		time.Sleep(3*time.Minute + 10*time.Second)
		synctest.Wait()
		s := r.Status()[0]
		want := start.Add(3*time.Minute + 2*time.Second)
		if rounds != 3 || !s.LastStart.Equal(want) || s.LastDuration != time.Second || s.Name != "count" {
			t.Errorf("%d rounds, %+v", rounds, s)
		}
		r.Stop()
	})
}

func TestJobRunsOnceForWakeUpsDuringARound(t *testing.T) {
	t.Parallel()
	rounds := 0
	count := func(context.Context) error { rounds++; time.Sleep(time.Second); return nil }
	run(t, Job{Run: count}, func(t *testing.T, r *Runner, wake func()) {
		time.Sleep(time.Hour)
		synctest.Wait()
		if rounds != 0 {
			t.Errorf("%d rounds without a wake-up", rounds)
		}
		for range 3 { // the last two during the first round
			wake()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if rounds != 2 {
			t.Errorf("%d rounds", rounds)
		}
		if r.Stop(); rounds != 2 {
			t.Errorf("a job without Drain runs %d rounds at the end", rounds-2)
		}
	})
}

func TestJobBacksOffAfterFailures(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		r, start := New(slog.New(slog.NewTextHandler(&log, nil))), time.Now()
		wake := r.Add(Job{Name: "shaky", Every: time.Hour, Run: func(context.Context) error {
			if at = append(at, time.Since(start)); len(at) >= 12 {
				return nil
			}
			return errors.New("broken")
		}})
		wake()
		r.Start(t.Context())
		synctest.Wait()
		wake() // no reason to try a failing job earlier
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if s := r.Status()[0]; s.Failures != 11 || s.LastError != nil {
			t.Errorf("%+v", s)
		}
		r.Stop()
	})
	var pauses []time.Duration
	for i := range len(at) - 1 {
		pauses = append(pauses, at[i+1]-at[i])
	}
	want := []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 0}
	for i := range want {
		want[i] *= time.Millisecond
	}
	if !slices.Equal(pauses, want) { // the wake-up counts as soon as a round has succeeded
		t.Errorf("paused %v", pauses)
	}
	if n := strings.Count(log.String(), `msg=shaky err=broken`); n != 11 {
		t.Errorf("logged %d failures", n)
	}
}

func TestJobRunsAfterThePauseThatItAsksFor(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	start := time.Now()
	next := func(context.Context) error {
		at = append(at, time.Since(start))
		return []error{After(0), After(time.Second), nil}[min(2, len(at)-1)]
	}
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		r := New(discard)
		r.Add(Job{Every: time.Minute, Run: next})
		r.Start(t.Context())
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if want := []time.Duration{60, 60, 61, 121}; len(at) != 4 {
			t.Errorf("rounds at %v", at)
		} else {
			for i := range want {
				if at[i] != want[i]*time.Second {
					t.Errorf("round %d at %v", i, at[i])
				}
			}
		}
		if s := r.Status()[0]; s.Failures != 0 || s.LastError != nil {
			t.Errorf("%+v", s)
		}
		r.Stop()
	})
}

func TestStopCancelsTheRoundWithoutDrain(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	run(t, Job{Every: time.Second, Run: wait}, func(t *testing.T, r *Runner, _ func()) {
		time.Sleep(time.Minute)
		synctest.Wait()
		start := time.Now()
		if r.Stop(); time.Since(start) != 0 || r.Status()[0].Failures != 0 {
			t.Errorf("stopped after %v, %+v", time.Since(start), r.Status())
		}
	})
}

func TestStopFinishesWhatIsDueUpToDrain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		due, rounds int
		err         error
	}{{3, 3, nil}, {100, 5, nil}, {1, 1, errors.New("broken")}} {
		rounds, canceled := 0, false
		work := func(ctx context.Context) error {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				canceled = true
				return ctx.Err()
			}
			if rounds++; rounds < c.due {
				return After(0)
			}
			return c.err
		}
		run(t, Job{Drain: 5500 * time.Millisecond, Run: work}, func(t *testing.T, r *Runner, _ func()) {
			if r.Stop(); rounds != c.rounds || canceled != (c.due > rounds) {
				t.Errorf("%d of %d rounds, canceled: %v", rounds, c.due, canceled)
			}
		})
	}
}

func TestStopEndsTheLastJobFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		r := New(discard)
		for _, name := range []string{"first", "last"} {
			r.Add(Job{Name: name, Drain: time.Minute, Run: func(context.Context) error {
				ended = append(ended, name)
				return nil
			}})
		}
		r.Start(t.Context())
		synctest.Wait()
		if r.Stop(); !slices.Equal(ended, []string{"last", "first"}) {
			t.Errorf("ended %v", ended)
		}
	})
}
