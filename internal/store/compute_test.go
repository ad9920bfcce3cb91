package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
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
		expect("create of a near duplicate", "[]loci.Similarity")
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
		expect("import of a changed text")

		content := loci.Content(distinctText(5))
		one(api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: id, Content: &content}))
		expect("update", "memorydb.IndexEntry")
		one(api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: id, Content: "a line"}))
		expect("append", "memorydb.IndexEntry")
		one(api.RevertMemory(ctx, ann, loci.RevertMemory{MemoryID: id, Version: 1}))
		expect("revert", "memorydb.IndexEntry")
		one(api.VerifyMemory(ctx, ann, loci.VerifyMemory{MemoryID: id, Confidence: new(loci.Confidence)}))
		expect("verify", "memorydb.IndexEntry")
		one(api.ArchiveMemory(ctx, ann, loci.ArchiveMemory{MemoryID: id}))
		expect("archive", "memorydb.IndexEntry")
		one(api.RestoreMemory(ctx, ann, loci.RestoreMemory{MemoryID: id}))
		expect("restore", "memorydb.IndexEntry")
		one(api.SupersedeMemory(ctx, ann, loci.SupersedeMemory{MemoryID: id,
			ReplacementMemoryID: other.Memory.ID}))
		expect("supersede", "memorydb.IndexEntry")
		must[loci.Empty](t)(api.DeleteMemory(ctx, ann, loci.DeleteMemory{MemoryID: id}))
		expect("delete")

		short := create(api.CreateMemory(ctx, ann, loci.CreateMemory{Content: "a short text"})).Memory
		one(api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: short.ID, Content: "a line"}))
		expect("append to a short text")
		one(api.AppendMemory(ctx, ann, loci.AppendMemory{MemoryID: short.ID,
			Content: loci.Content(distinctText(6) + secret), Secrets: loci.OnSecretRedact}))
		expect("append of a long text", "memorydb.IndexEntry")
		if m := one(api.RevertMemory(ctx, ann, loci.RevertMemory{MemoryID: short.ID,
			Version: 3})).Memory; m.Version != 3 ||
			strings.Contains(m.Content, secret) {
			t.Errorf("the credential is stored in version %d", m.Version)
		}
		computed = nil

		d.Exec(t, `UPDATE workspaces SET secrets = 'allow'`)
		one(api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: short.ID, Content: &content}))
		expect("update where credentials are allowed", "memorydb.IndexEntry")
		one(api.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: short.ID, Content: &source.Content,
			Secrets: loci.OnSecretRedact}))
		expect("redacting update where credentials are allowed", "memorydb.IndexEntry")
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
