package spool

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/capture"
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
	for range 4 {
		wg.Go(func() {
			for range 5 {
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
				time.AfterFunc(time.Duration(20+rand.IntN(150))*time.Millisecond, func() { _ = child.Process.Kill() })
				for lines := bufio.NewScanner(out); lines.Scan(); {
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
	if err := s.Deliver(t.Context(), func(_ context.Context, e capture.Event) error {
		delivered[string(e.Input.EventID)]++
		return nil
	}); err != nil {
		t.Error(err)
	}
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
	if len(appended) < 20 || twice > len(appended)/4 {
		t.Errorf("%d appended, %d delivered twice", len(appended), twice)
	}
}
