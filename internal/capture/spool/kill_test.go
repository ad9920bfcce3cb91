package spool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/testenv"
)

// childEnv names the folder of a process of this test that appends events until it is killed.
const childEnv = "SPOOL_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		appendUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// appendUntilKilled prints the id of each event that the spool has, and delivers some of them.
func appendUntilKilled(dir string) {
	s, err := Open(dir)
	for i := 0; err == nil; i++ {
		id := fmt.Sprintf("%d-%d", os.Getpid(), i)
		if err = s.Append(context.Background(), event(id)); err == nil {
			fmt.Println("appended", id)
		} else if errors.Is(err, ErrBusy) { // on a busy machine: the event was refused
			err = nil
		}
		if i%7 == 0 {
			_ = s.Deliver(context.Background(), func(_ context.Context, e capture.Event) error {
				fmt.Println("delivered", e.Input.EventID)
				return nil
			})
		}
	}
	fmt.Println("failed", err)
	os.Exit(1)
}

func TestSpoolLosesNothingWhenProcessesAreKilled(t *testing.T) {
	t.Parallel()
	s := newSpool(t)
	appended, delivered := map[string]bool{}, map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	const writers, kills = 4, 5
	for range writers {
		wg.Go(func() {
			for range kills {
				child := exec.CommandContext(t.Context(), os.Args[0])
				child.Env = append(os.Environ(), childEnv+"="+s.dir)
				out, err := child.StdoutPipe()
				if err == nil {
					err = child.Start()
				}
				if err != nil {
					t.Error(err)
					return
				}
				left := 1 + rand.IntN(40) // lines before it is killed
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if left--; left == 0 {
						_ = child.Process.Kill()
					}
					var what, id string
					_, _ = fmt.Sscan(lines.Text(), &what, &id)
					mu.Lock()
					switch what {
					case "appended":
						appended[id] = true
					case "delivered":
						delivered[id]++
					case "failed":
						t.Error(lines.Text())
					}
					mu.Unlock()
				}
				_ = child.Wait() // it was killed
			}
		})
	}
	wg.Wait()
	testenv.NoError(t, s.Deliver(t.Context(), func(_ context.Context, e capture.Event) error {
		delivered[string(e.Input.EventID)]++
		return nil
	}))
	twice := 0
	for id, n := range delivered {
		if n > 1 {
			twice++
		}
		if n > 3 {
			t.Errorf("%s came %d times", id, n)
		}
	}
	for id := range appended {
		if delivered[id] == 0 {
			t.Errorf("%s is lost", id)
		}
	}
	if len(appended) == 0 || twice > writers*kills { // a kill interrupts one delivery
		t.Errorf("%d appended, %d delivered twice", len(appended), twice)
	}
}
