package spool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/testenv"
)

func newSpool(t testing.TB) *Spool {
	return testenv.Must(Open(filepath.Join(t.TempDir(), "state", "spool")))(t)
}

// event returns an event with an id.
func event(id string) capture.Event {
	return capture.Event{Adapter: "claude", ExternalID: "s", Task: "t", SourceName: "Claude Code",
		Input: loci.SendEvent{Adapter: "claude", EventID: loci.ExternalID(id), Type: loci.EventPrompt, OccurredAt: 1e15,
			Role: loci.RoleOfUser, Content: loci.EventContent("content of " + id),
			Metadata: loci.Metadata{"cwd": "/a"}},
		Audit: []loci.RedactionCount{{Rule: "r", Count: 1}}}
}

func add(t testing.TB, s *Spool, ids ...string) {
	t.Helper()
	for _, id := range ids {
		testenv.NoError(t, s.Append(context.Background(), event(id)))
	}
}

// A receiver records the ids that it is sent.
type receiver struct {
	ids []string
	err map[string]error // the results, by id
}

func (r *receiver) send(_ context.Context, e capture.Event) error {
	id := string(e.Input.EventID)
	r.ids = append(r.ids, id)
	return r.err[id]
}

func (r *receiver) deliver(t testing.TB, s *Spool) error {
	t.Helper()
	r.ids = nil
	return s.Deliver(t.Context(), r.send)
}

func status(t testing.TB, s *Spool) Status {
	t.Helper()
	return testenv.Must(ReadStatus(s.dir))(t)
}

func TestDeliverSendsEachEventOnceInOrder(t *testing.T) {
	t.Parallel()
	s, r := newSpool(t), &receiver{}
	if err := r.deliver(t, s); err != nil || r.ids != nil {
		t.Errorf("an empty spool: %v %v", r.ids, err)
	}
	add(t, s, "a", "b", "c")
	var got capture.Event
	if e, _, err := s.first(t.Context()); err != nil {
		t.Fatal(err)
	} else if got = e; fmt.Sprint(got) != fmt.Sprint(event("a")) {
		t.Errorf("%+v", got)
	}
	if st := status(t, s); st.Waiting != 3 || st.Oldest.IsZero() || st.Bytes == 0 {
		t.Errorf("%+v", st)
	}
	for _, want := range [][]string{{"a", "b", "c"}, nil, {"d", "e", "f", "g"}} {
		if err := r.deliver(t, s); err != nil || !slices.Equal(r.ids, want) {
			t.Errorf("%v %v, want %v", r.ids, err, want)
		}
		if r.ids == nil {
			add(t, s, "d", "e", "f", "g") // more bytes than were delivered
		}
	}
	testenv.Equal(t, status(t, s), (Status{}))
}

func TestSpoolIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	s := newSpool(t)
	add(t, s, "a")
	r := receiver{err: map[string]error{"a": loci.NewError(loci.CodeUnavailable)}}
	_ = r.deliver(t, s)
	files, err := os.ReadDir(s.dir)
	if err != nil || len(files) < 4 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f.Name(), info.Mode(), err)
		}
	}
	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info.Mode(), err)
		}
	}
}

func TestDeliverKeepsEventsAfterPassingErrors(t *testing.T) {
	t.Parallel()
	s := newSpool(t)
	add(t, s, "a", "b", "c", "d")
	clock := time.Now()
	s.now = func() time.Time { return clock }
	r := &receiver{err: map[string]error{"a": loci.NewError(loci.CodeInvalidQuery),
		"b": loci.NewError(loci.CodeRevoked)}}
	for range freeFailures {
		if err := r.deliver(t, s); !loci.Is(err, loci.CodeRevoked) {
			t.Errorf("%v %v", r.ids, err)
		}
	}
	if st := status(t, s); st.Waiting != 3 || st.Refused != 1 || st.LastError.Code != loci.CodeRevoked {
		t.Errorf("%+v", st)
	}
	_ = r.deliver(t, s)
	if err := r.deliver(t, s); err != ErrWait || r.ids != nil {
		t.Errorf("after many failures: %v %v", r.ids, err)
	}
	clock = clock.Add(maxPause)
	r.err = map[string]error{"b": nil, "c": &loci.Error{Code: loci.CodeRateLimited, RetryAfter: time.Minute}}
	if err := r.deliver(t, s); !loci.Is(err, loci.CodeRateLimited) || !slices.Equal(r.ids, []string{"b", "c"}) {
		t.Errorf("%v %v", r.ids, err)
	}
	clock = clock.Add(59 * time.Second)
	if err := r.deliver(t, s); err != ErrWait {
		t.Errorf("before the time that the server asked for: %v", err)
	}
	clock, r.err = clock.Add(2*time.Second), nil
	if err := r.deliver(t, s); err != nil || !slices.Equal(r.ids, []string{"c", "d"}) {
		t.Errorf("%v %v", r.ids, err)
	}
}

func TestDeliverDropsWhatCanNeverSucceed(t *testing.T) {
	t.Parallel()
	for _, e := range loci.Catalogue {
		want := slices.Contains([]int{400, 404, 409, 412, 413, 415}, e.Status)
		testenv.Equal(t, IsPermanent(fmt.Errorf("call: %w", loci.NewError(e.Code))), want, e.Code, !want)
	}
	if IsPermanent(context.DeadlineExceeded) || IsPermanent(errors.New("refused")) {
		t.Error("an error of the network is permanent")
	}
	s := newSpool(t)
	add(t, s, "bad", "good")
	clock := time.Now()
	s.now = func() time.Time { clock = clock.Add(maxPause); return clock }
	r := &receiver{err: map[string]error{"bad": context.DeadlineExceeded}}
	for range 2 * maxAttempts {
		_ = r.deliver(t, s)
	}
	if st := status(t, s); st.Waiting != 2 || st.LastError.Code != loci.CodeUnavailable {
		t.Errorf("a server that never answers: %+v", st)
	}
	r.err["bad"] = loci.NewError(loci.CodeInternalError)
	for range maxAttempts {
		_ = r.deliver(t, s)
	}
	if st := status(t, s); st.Waiting != 0 || st.Refused != 1 || st.LastLoss.IsZero() {
		t.Errorf("an event that breaks the server: %+v", st)
	}
}

func TestAppendDropsTheOldestAboveTheLimit(t *testing.T) {
	t.Parallel()
	s, r := newSpool(t), &receiver{}
	s.limit = 8 << 10
	add(t, s, "delivered")
	_ = s.Deliver(t.Context(), func(_ context.Context, e capture.Event) error {
		add(t, s, "second")
		if e.Input.EventID == "second" {
			return loci.NewError(loci.CodeUnavailable)
		}
		return nil
	})
	const n = 200
	for i := range n {
		add(t, s, fmt.Sprint("e", i))
		if info, err := os.Stat(s.path(eventsFile)); err != nil || info.Size() > s.limit {
			t.Fatalf("%v bytes, %v", info.Size(), err)
		}
	}
	st := status(t, s)
	if st.Dropped == 0 || st.Dropped+int64(st.Waiting) != n+2 || st.Bytes < s.limit/2 {
		t.Errorf("%+v", st)
	}
	if err := r.deliver(t, s); err != nil || len(r.ids) != st.Waiting || r.ids[len(r.ids)-1] != fmt.Sprint("e", n-1) {
		t.Errorf("%v %v", r.ids, err)
	}
	if !slices.IsSortedFunc(r.ids, func(a, b string) int { return len(a) - len(b) }) {
		t.Errorf("not in order: %v", r.ids)
	}
}

// An event that is dropped while it is being sent leaves the others in place.
func TestDeliverSurvivesDroppedEvents(t *testing.T) {
	t.Parallel()
	s, sent := newSpool(t), map[string]bool{}
	s.limit = 8 << 10
	add(t, s, "first")
	added := 0
	err := s.Deliver(t.Context(), func(_ context.Context, e capture.Event) error {
		for ; added < 100; added++ {
			add(t, s, fmt.Sprint(added))
		}
		sent[string(e.Input.EventID)] = true
		return nil
	})
	if dropped := status(t, s).Dropped; err != nil || dropped == 0 || len(sent) != 100-int(dropped)+2 || !sent["99"] {
		t.Errorf("%d dropped, %d sent: %v", dropped, len(sent), err)
	}
}

func TestReaderSkipsTornLines(t *testing.T) {
	t.Parallel()
	s, r := newSpool(t), &receiver{}
	add(t, s, "a", "b")
	whole := testenv.Must(os.ReadFile(s.path(eventsFile)))(t)
	for n := range len(whole) + 1 {
		s := newSpool(t)
		testenv.NoError(t, os.WriteFile(s.path(eventsFile), whole[:n], 0o600))
		add(t, s, "c")
		want := append(slices.Clone([]string{"a", "b"}[:strings.Count(string(whole[:n]), "\n")]), "c")
		// a torn line that lacks its newline alone is whole again
		if n > 0 && n+1 <= len(whole) && whole[n] == '\n' {
			want = append(slices.Clone([]string{"a", "b"}[:strings.Count(string(whole[:n]), "\n")+1]), "c")
		}
		if err := r.deliver(t, s); err != nil || !slices.Equal(r.ids, want) {
			t.Fatalf("after %d bytes: %v %v, want %v", n, r.ids, err, want)
		}
	}
	for _, text := range []string{"", "x", "{}\n[]\nnull\n\x00\n", strings.Repeat("\n", 100)} {
		for _, name := range []string{eventsFile, stateFile} {
			testenv.NoError(t, os.WriteFile(s.path(name), []byte(text), 0o600))
		}
		if err := r.deliver(t, s); err != nil || r.ids != nil {
			t.Errorf("%q: %v %v", text, r.ids, err)
		}
	}
}

func TestAppendReportsFullDisk(t *testing.T) {
	t.Parallel()
	s := newSpool(t)
	if err := os.Symlink("/dev/full", s.path(eventsFile)); err != nil {
		t.Skip("no /dev/full")
	}
	if err := s.Append(t.Context(), event("a")); err == nil {
		t.Error("a full disk took an event")
	}
}

func TestSpoolServesManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := newSpool(t).dir
	var mu sync.Mutex
	got, wg := map[string]int{}, sync.WaitGroup{}
	const workers, each = 8, 25
	for w := range workers {
		wg.Go(func() {
			s, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range each {
				err := ErrBusy
				for errors.Is(err, ErrBusy) { // on a busy machine the lock may not come in time
					err = s.Append(t.Context(), event(fmt.Sprintf("%d-%d", w, i)))
				}
				if err != nil {
					t.Error(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				_ = s.Deliver(ctx, func(_ context.Context, e capture.Event) error {
					mu.Lock()
					defer mu.Unlock()
					got[string(e.Input.EventID)]++
					return nil
				})
				cancel()
			}
		})
	}
	wg.Wait()
	s := &Spool{dir: dir, now: time.Now}
	testenv.NoError(t, s.Deliver(t.Context(), func(_ context.Context, e capture.Event) error {
		got[string(e.Input.EventID)]++
		return nil
	}))
	for id, n := range got {
		testenv.Equal(t, n, 1, id)
	}
	testenv.Equal(t, len(got), workers*each, "of came")
}

func FuzzReader(f *testing.F) {
	f.Add("{}\n", "", int64(0))
	f.Add(`{"adapter":"pi","externalId":"s","input":{"eventId":"e"}}`+"\n", `{"done":3}`, int64(7))
	f.Fuzz(func(t *testing.T, events, saved string, limit int64) {
		s := newSpool(t)
		s.limit = max(1, min(limit, 4<<10))
		if errors.Join(os.WriteFile(s.path(eventsFile), []byte(events), 0o600), os.WriteFile(s.path(stateFile),
			[]byte(saved), 0o600)) != nil {
			t.Skip()
		}
		add(t, s, "new")
		r := &receiver{}
		if err := r.deliver(t, s); err == ErrWait {
			return
		} else if err != nil || !slices.Contains(r.ids, "new") {
			t.Fatalf("%v %v", r.ids, err)
		}
	})
}

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
			if err := s.Deliver(context.Background(), func(_ context.Context, e capture.Event) error {
				fmt.Println("delivered", e.Input.EventID)
				return nil
			}); err != nil { // on a busy machine: the result of a delivery may not be recorded
				fmt.Println("interrupted", err)
			}
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
	interrupted := writers * kills // a kill interrupts one delivery
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
					case "interrupted":
						interrupted++
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
	again := 0
	for _, n := range delivered {
		again += n - 1
	}
	for id := range appended {
		if delivered[id] == 0 {
			t.Errorf("%s is lost", id)
		}
	}
	if len(appended) == 0 || again > interrupted {
		t.Errorf("%d appended, %d delivered again, at most %d interrupted", len(appended), again, interrupted)
	}
}
