package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// distinctText is a long text. Texts of different seeds are not similar.
func distinctText(seed int) string {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "word%d ", seed*10_000+i)
	}
	return b.String()
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestWritesAnalyzeLongTextsOutsideTransactions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		api := newService(s)
		var computed []string
		store.TraceComputations(s, func(v any) { computed = append(computed, fmt.Sprintf("%T", v)) })
		expect := func(name string, want ...string) {
			t.Helper()
			if !slices.Equal(computed, want) {
				t.Errorf("%s computed %v outside its transaction, want %v", name, computed, want)
			}
			computed = nil
		}
		create, one := must[loci.CreatedMemory](t), must[loci.OneMemory](t)

		m := create(api.CreateMemory(ctx, ann, loci.CreateMemory{Content: loci.Content(distinctText(1))})).Memory
		id := m.ID
		expect("create")
		other := create(api.CreateMemory(ctx, ann, loci.CreateMemory{Content: loci.Content(distinctText(1) + "end")}))
		expect("create of a near duplicate", "memorydb.nearTexts")
		if len(other.Memory.Similar) != 1 || other.Memory.Similar[0].ID != m.ID {
			t.Errorf("similar: %v, want %s", other.Memory.Similar, m.ID)
		}
		must[loci.CreatedAtlas](t)(api.CreateAtlas(ctx, ann,
			loci.CreateAtlas{Name: "Words", Keywords: loci.Keywords{"word20007"}}))
		computed = nil
		routed := create(api.CreateMemory(ctx, ann, loci.CreateMemory{Content: loci.Content(distinctText(2))}))
		expect("create with routing keywords", "service.atlasMatch")
		if !slices.Equal(routed.Memory.Routing.Matched, []string{"word20007"}) {
			t.Errorf("routing: %+v", routed.Memory.Routing)
		}
		secret := "ghp_" + strings.Repeat("aB3dE5gH7", 4)
		redacted := create(api.CreateMemory(ctx, ann, loci.CreateMemory{AtlasID: m.AtlasID,
			Content: loci.Content(distinctText(3) + secret), Secrets: loci.OnSecretRedact}))
		expect("create with a credential", "service.preparedMemory")
		if strings.Contains(redacted.Memory.Content, secret) {
			t.Error("the credential is stored")
		}
		source := loci.CreateMemory{Content: loci.Content(distinctText(4)), AtlasID: m.AtlasID,
			Source: &loci.Source{Name: "docs", URI: "a.md"}, OnDuplicate: loci.OnDuplicateVersion}
		create(api.CreateMemory(ctx, ann, source))
		expect("import")
		source.Content += "end"
		if again := create(api.CreateMemory(ctx, ann, source)); again.Memory.Version != 2 {
			t.Errorf("the import of a changed text is version %d", again.Memory.Version)
		}
		expect("import of a changed text", "memorydb.indexUpdate")

		content := loci.Content(distinctText(5))
		one(api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: id, Content: &content}))
		expect("update", "memorydb.indexUpdate")
		one(api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: id, Content: "a line"}))
		expect("append", "memorydb.indexUpdate")
		one(api.RevertMemory(ctx, ann, loci.RevertMemory{MemoryID: id, Version: 1}))
		expect("revert", "memorydb.indexUpdate")
		one(api.VerifyMemory(ctx, ann, loci.VerifyMemory{MemoryID: id, Confidence: new(loci.Confidence)}))
		expect("verify", "memorydb.indexUpdate")
		one(api.ArchiveMemory(ctx, ann, loci.ArchiveMemory{MemoryID: id}))
		expect("archive", "memorydb.indexUpdate")
		one(api.RestoreMemory(ctx, ann, loci.RestoreMemory{MemoryID: id}))
		expect("restore", "memorydb.indexUpdate")
		one(api.SupersedeMemory(ctx, ann, loci.SupersedeMemory{MemoryID: id,
			ReplacementMemoryID: other.Memory.ID}))
		expect("supersede", "memorydb.indexUpdate")
		must[loci.Empty](t)(api.DeleteMemory(ctx, ann, loci.DeleteMemory{MemoryID: id}))
		expect("delete")

		short := create(api.CreateMemory(ctx, ann, loci.CreateMemory{Content: "a short text"})).Memory
		one(api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: short.ID, Content: "a line"}))
		expect("append to a short text")
		one(api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: short.ID,
			Content: loci.Content(distinctText(6) + secret), Secrets: loci.OnSecretRedact}))
		expect("append of a long text", "memorydb.indexUpdate")
		if m := one(api.RevertMemory(ctx, ann, loci.RevertMemory{MemoryID: short.ID,
			Version: 3})).Memory; m.Version != 3 ||
			strings.Contains(m.Content, secret) {
			t.Errorf("the credential is stored in version %d", m.Version)
		}
		computed = nil

		d.Exec(t, `UPDATE workspaces SET secrets = 'allow'`)
		one(api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: short.ID, Content: &content}))
		expect("update where credentials are allowed", "memorydb.indexUpdate")
		one(api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: short.ID, Content: &source.Content,
			Secrets: loci.OnSecretRedact}))
		expect("redacting update where credentials are allowed", "memorydb.indexUpdate")
	})
}

// TestLongTextsAreAnalyzedInTurns makes calls while others hold all slots of analyses: those with long texts wait, and
// leave their place when their clients do.
func TestLongTextsAreAnalyzedInTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		api := newService(s)
		long := strings.Repeat("\ufdfa ", 950) // short, but its normal form is long
		text := loci.Content(long + distinctText(1))
		create := func(content loci.Content) loci.ID {
			in := loci.CreateMemory{Content: content}
			return must[loci.CreatedMemory](t)(api.CreateMemory(ctx, ann, in)).Memory.ID
		}
		first, second, short := create(text), create(text+"end"), create("a short text")
		source := loci.CreateMemory{Content: text, Source: &loci.Source{Name: "docs", URI: "a.md"},
			OnDuplicate: loci.OnDuplicateVersion}
		must[loci.CreatedMemory](t)(api.CreateMemory(ctx, ann, source))
		session := must[loci.StartedSession](t)(api.StartSession(ctx, ann, loci.StartSession{Task: "t"})).Session
		automatic := must[loci.StartedSession](t)(api.StartSession(ctx, ann,
			loci.StartSession{Task: "t", Kind: loci.SessionAutomatic, Adapter: "claude"})).Session
		unit := must[loci.OpenedUnit](t)(api.OpenUnit(ctx, ann,
			loci.OpenUnit{SessionID: automatic.ID, Key: "u"})).Unit
		candidate := must[loci.CapturedCandidate](t)(api.CaptureCandidate(ctx, ann,
			loci.CaptureCandidate{SessionID: session.ID, Content: loci.CandidateContent(long)})).Candidate

		release := make(chan struct{})
		held := sync.WaitGroup{}
		slots := s.Analyses().Total()
		entered := make(chan struct{}, slots)
		for i := range slots {
			held.Go(func() {
				other := &identity.Actor{UserID: loci.ID(fmt.Sprint("other", i))}
				if err := s.Analyze(ctx, other, func() { entered <- struct{}{}; <-release }, string(text)); err != nil {
					t.Error(err)
				}
			})
		}
		defer held.Wait()
		defer close(release)
		for range slots {
			<-entered
		}
		for name, call := range map[string]func(context.Context) error{
			"create": func(ctx context.Context) error {
				_, err := api.CreateMemory(ctx, ann, loci.CreateMemory{Content: text})
				return err
			},
			"import": func(ctx context.Context) error {
				_, err := api.CreateMemory(ctx, ann, source)
				return err
			},
			"update": func(ctx context.Context) error {
				_, err := api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: short, Content: &text})
				return err
			},
			"update to a short text": func(ctx context.Context) error {
				x := loci.Content("x")
				_, err := api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: first, Content: &x})
				return err
			},
			"append": func(ctx context.Context) error {
				_, err := api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: short, Content: text})
				return err
			},
			"archive": func(ctx context.Context) error {
				_, err := api.ArchiveMemory(ctx, ann, loci.ArchiveMemory{MemoryID: first})
				return err
			},
			"delete": func(ctx context.Context) error {
				_, err := api.DeleteMemory(ctx, ann, loci.DeleteMemory{MemoryID: second})
				return err
			},
			"similar": func(ctx context.Context) error {
				_, err := api.SimilarMemories(ctx, ann, loci.SimilarMemories{MemoryID: first})
				return err
			},
			"search": func(ctx context.Context) error {
				_, err := api.SearchMemories(ctx, ann, loci.SearchMemories{Query: loci.Query(long)})
				return err
			},
			"context": func(ctx context.Context) error {
				_, err := api.ReadContext(ctx, ann, loci.ReadContext{Query: loci.Query(long)})
				return err
			},
			"candidate": func(ctx context.Context) error {
				_, err := api.CaptureCandidate(ctx, ann, loci.CaptureCandidate{SessionID: session.ID,
					Content: loci.CandidateContent("another " + long)})
				return err
			},
			"compile": func(ctx context.Context) error {
				_, err := api.ModerateCandidate(ctx, ann, loci.ModerateCandidate{SessionID: session.ID,
					CandidateID: candidate.ID, Action: loci.ModerationCompile})
				return err
			},
			"end of a session": func(ctx context.Context) error {
				_, err := api.FinalizeSession(ctx, ann, loci.FinalizeSession{SessionID: session.ID})
				return err
			},
			"unit": func(ctx context.Context) error {
				_, err := api.FinalizeUnit(ctx, ann, loci.FinalizeUnit{SessionID: automatic.ID, UnitID: unit.ID,
					Content: text})
				return err
			},
		} {
			called, leave := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() { done <- call(called) }()
			waittest.Until(t, func() bool { return s.Analyses().Waiting(0) > 0 || len(done) > 0 })
			waited := len(done) == 0
			leave()
			if err := <-done; !waited || !errors.Is(err, context.Canceled) {
				t.Errorf("%s, whose client left, waited: %v; its error is %v", name, waited, err)
			}
		}
		if n := s.Analyses().Waiting(0); n != 0 {
			t.Errorf("%d wait whose clients left", n)
		}
		create("another short text")
		searchKeywords(t, s, ann, "short text", loci.MemoryFilter{})
	})
}

// A gatedModel reports each call, which then waits.
type gatedModel struct {
	*storetest.FakeEmbedder
	called chan struct{}
}

func (m gatedModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.called <- struct{}{}
	return m.FakeEmbedder.Embed(ctx, texts)
}

// TestSearchHasItsTurnForTheAnalysisAlone makes as many searches of long queries as have a turn at once. While they
// wait for the model, another user's text is analyzed.
func TestSearchHasItsTurnForTheAnalysisAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		model := gatedModel{&storetest.FakeEmbedder{Name: "words", Gate: make(chan struct{})}, make(chan struct{})}
		api := service.New(service.Options{Store: s, Clock: time.Now, Embedder: model, EmbedTimeout: time.Minute})
		long := strings.Repeat("\ufdfa ", 950)
		done := make(chan error, s.Analyses().Total())
		for range cap(done) {
			go func() {
				_, err := api.SearchMemories(ctx, ann,
					loci.SearchMemories{Query: loci.Query(long), Mode: loci.ModeSemantic})
				done <- err
			}()
		}
		for range cap(done) {
			<-model.called
		}
		err := s.Analyze(ctx, &identity.Actor{UserID: "other"}, func() {}, long)
		if err != nil || len(done) > 0 {
			t.Errorf("%v, and %d searches ended before", err, len(done))
		}
		close(model.Gate)
		for range cap(done) {
			testenv.NoError(t, <-done)
		}
	})
}

func TestUpdateAnalyzesTextAgainWhenItChangedMeanwhile(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		api := newService(s)
		var m loci.Memory
		line := func(text string) error {
			_, err := api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: m.ID,
				Content: loci.Content(text)})
			return err
		}
		computations := 0
		store.TraceComputations(s, func(any) {
			if computations++; computations == 1 {
				if err := line("second"); err != nil { // before the first one runs again
					t.Error(err)
				}
			}
		})
		m = must[loci.CreatedMemory](t)(api.CreateMemory(ctx, ann, loci.CreateMemory{Title: "Given, so never derived",
			Content: loci.Content(distinctText(1))})).Memory.Memory
		if err := line("first"); err != nil {
			t.Fatal(err)
		}
		if computations != 3 { // of the second line, of the first one, and again
			t.Errorf("%d computations, want 3", computations)
		}
		got := must[loci.Memory](t)(store.Read(ctx, s, ann, func(tx *store.Tx) (loci.Memory, error) {
			return memorydb.Record(tx, m.ID)
		}))
		if !strings.HasSuffix(got.Content, "\nsecond\nfirst") {
			t.Errorf("the text ends with %q", got.Content[len(got.Content)-20:])
		}
		if r := searchKeywords(t, s, ann, "second first", loci.MemoryFilter{}); len(r.Hits) != 1 {
			t.Errorf("%d hits, want 1", len(r.Hits))
		}
	})
}

func TestComputeEndsWhenEveryRunNeedsAnotherValue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		runs := 0
		got, err := store.Write(ctx, s, ann, func(tx *store.Tx) (int, error) {
			runs++
			return store.Compute(tx, 1<<20, func() int { return runs }, fmt.Sprint(runs))
		})
		if err != nil || got != runs || runs != 9 {
			t.Errorf("%d, %v after %d runs, want 9", got, err, runs)
		}
	})
}
