package integrity_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// damage runs statements behind the back. {a} is the id of an active attachment, {memory} that of its memory.
func (x *fileTest) damage(statement string) {
	x.t.Helper()
	x.d.Exec(x.t, strings.NewReplacer("{a}", `'`+string(x.active[0])+`'`, "{memory}", `'`+string(x.memories[0].ID)+
		`'`).Replace(statement))
	x.d.ComputeChecksums(x.t)
}

// find checks the store, and fails unless it finds one inconsistency with these words.
func (x *fileTest) find(o integrity.Options, kind, says string, repaired bool) {
	x.t.Helper()
	sum, err := integrity.New(x.s).Check(ctx, o)
	if err != nil || sum.Found != 1 || (sum.Repaired == 1) != repaired || sum.Inconsistencies[0].Kind != kind ||
		!strings.Contains(sum.Inconsistencies[0].Detail, says) {
		x.t.Errorf("%+v, %v, want %q", sum, err, says)
	}
}

// testObjects are the objects of a bucket, of which all are days old.
type testObjects struct {
	blob.Bucket
	age    time.Duration
	shared bool
	err    error
}

func (b testObjects) List(ctx context.Context) iter.Seq2[integrity.Object, error] {
	return func(yield func(integrity.Object, error) bool) {
		if b.err != nil {
			yield(integrity.Object{}, b.err)
			return
		}
		for o, err := range b.Bucket.List(ctx) {
			o.ModifiedAt = o.ModifiedAt.Add(-b.age)
			if !yield(integrity.Object(o), err) {
				return
			}
		}
	}
}

func (b testObjects) Head(ctx context.Context, id loci.ID) (integrity.Object, bool, error) {
	o, err := b.Bucket.Head(ctx, id)
	if errors.Is(err, blob.ErrNotFound) {
		return integrity.Object{}, false, nil
	}
	return integrity.Object(o), true, err
}

func (b testObjects) Shared() bool { return b.shared }

// The place of a memory is damaged if it is in another workspace. Its document and its attachments name the right one.
func TestRepairKeepsWhatNamesTheRightAtlas(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newFileTest(t, d)
		before := d.Query(t, `SELECT atlas FROM memories WHERE id = '`+string(x.memories[0].ID)+`'`)[0]
		x.damage(`DELETE FROM index_log WHERE memory <> (SELECT row_id FROM memories WHERE id = {memory})`)
		x.damage(`UPDATE memories SET atlas = (SELECT max(a.row_id) FROM atlases a
			WHERE a.workspace <> memories.workspace) WHERE id = {memory}`)
		kinds := kindsOf(checkIntegrity(t, x.s, true))
		if !slices.Contains(kinds, "rows "+string(x.memories[0].ID)) ||
			!slices.Contains(kinds, "index "+string(x.crew)) {
			t.Errorf("found %v", kinds)
		}
		x.damage(`UPDATE memories SET atlas = ` + before + ` WHERE id = {memory}`)
		for _, f := range checkIntegrity(t, x.s, true).Inconsistencies {
			testenv.Equal(t, f.Kind, integrity.InconsistentCounters, "after the repair")
		}
		checkHealthy(t, x.s)
	})
}

// A memory that moves takes its files, its counters and its place in the index along, before and after a flush.
func TestMovedMemoryIsConsistent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newFileTest(t, d)
		former := x.memories[0].AtlasID
		for _, name := range []loci.Name{"One", "Two"} {
			a := testenv.Must(x.service.CreateAtlas(ctx, x.bob, loci.CreateAtlas{Name: name, WorkspaceID: x.crew}))(t)
			m := testenv.Must(x.service.UpdateMemory(ctx, x.bob, loci.UpdateMemory{MemoryID: x.memories[0].ID,
				AtlasID: a.Atlas.ID}))(t)
			testenv.Equal(t, m.Memory.AtlasID, a.Atlas.ID)
			checkHealthy(t, x.s)
			for atlas, want := range map[loci.ID]int{former: 0, a.Atlas.ID: 1} {
				got := testenv.Must(x.service.GetAtlas(ctx, x.bob, loci.GetAtlas{AtlasID: atlas}))(t)
				testenv.Equal(t, got.Atlas.MemoryCount, want, name)
				r := searchKeywords(t, x.s, x.bob, "team", loci.MemoryFilter{AtlasID: atlas})
				testenv.Equal(t, r.KeywordCandidates, want, name)
			}
			testenv.NoError(t, x.s.Flush(ctx, x.crew))
			checkHealthy(t, x.s)
			former = a.Atlas.ID
		}
		detail := testenv.Must(x.service.GetMemory(ctx, x.bob, loci.GetMemory{MemoryID: x.memories[0].ID}))(t)
		testenv.Equal(t, len(detail.Attachments), 1, "files")
		testenv.Equal(t, detail.Version, 3, "version")
	})
}

// A reindex knows the types and the statuses of this program, and keeps the memories of a newer one in the index.
func TestReindexKeepsMemoriesOfANewerProgram(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "the harbour")
		s.Close()
		d.Exec(t, `UPDATE memories SET type = 60`)
		d.ComputeChecksums(t) // as that program does
		d.Exec(t, `DELETE FROM index_log`)
		d.Exec(t, `UPDATE keyword_indexes SET analyzer = 0`)
		s = d.Open(t, store.Options{})
		waittest.Until(t, func() bool {
			return searchKeywords(t, s, ann, "harbour", loci.MemoryFilter{}).KeywordCandidates == 1
		})
	})
}

func TestCheckComparesObjects(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newFileTest(t, d)
		objects := testObjects{Bucket: x.bucket, age: 25 * time.Hour}
		check := func(repair bool) integrity.Options { return integrity.Options{Repair: repair, Objects: objects} }
		healthy := func() {
			t.Helper()
			if sum, err := integrity.New(x.s).Check(ctx, check(true)); err != nil || sum.Found > 0 {
				t.Errorf("%+v, %v", sum, err)
			}
		}
		healthy()
		objects.err = errors.New("the bucket is away")
		x.find(check(true), integrity.InconsistentObjects, "the bucket is away", false)
		x.damage(`UPDATE atlases SET memories = 7 WHERE row_id = (SELECT atlas FROM memories WHERE id = {memory})`)
		if sum, err := integrity.New(x.s).Check(ctx, check(true)); err != nil || sum.Found != 2 || sum.Repaired != 1 {
			t.Errorf("the rest of the check: %+v, %v", sum, err)
		}
		objects.err = nil

		x.damage(`UPDATE attachments SET size = 6 WHERE id = {a}`)
		x.find(check(false), integrity.InconsistentObjects, "has 5 bytes, and had 6", false)
		x.find(check(true), integrity.InconsistentObjects, "has 5 bytes, and had 6", false)
		x.damage(`UPDATE attachments SET size = 5 WHERE id = {a}`)
		healthy()

		testenv.NoError(t, x.bucket.Delete(ctx, x.active[0]))
		x.find(check(true), integrity.InconsistentObjects, "is missing", false)
		testenv.Equal(t, x.count("attachments"), "4", "a repair has deleted a row")
		testenv.NoError(t, x.bucket.Put(ctx, x.active[0], strings.NewReader("hello"), 5))

		orphan := loci.NewID(time.Now())
		testenv.NoError(t, x.bucket.Put(ctx, orphan, strings.NewReader("nobody's"), 8))
		objects.age = 23 * time.Hour
		healthy()
		objects.age = 25 * time.Hour
		x.find(check(false), integrity.InconsistentObjects, "no attachment has", false)
		x.find(check(true), integrity.InconsistentObjects, "no attachment has", true)
		healthy()
		testenv.Len(t, x.objects(), 4, "objects are left")

		// Objects of deleted attachments are those of jobs. Of a bucket without any own object none is deleted.
		x.damage(`INSERT INTO jobs (kind, subject, due, attempts, error, created_at)
			SELECT 'delete_object', id, 1, 0, '', 1 FROM attachments`)
		x.damage(`UPDATE memories SET attachments = '[]'`)
		x.damage(`DELETE FROM attachments`)
		healthy()
		x.damage(`DELETE FROM jobs`)
		objects.shared = true
		if sum, err := integrity.New(x.s).Check(ctx, check(true)); err != nil || sum.Found != 4 || sum.Repaired != 0 ||
			!strings.Contains(sum.Inconsistencies[0].Repair, "LOCI_BLOBS") {
			t.Errorf("%+v, %v", sum, err)
		}
		objects.shared = false
		if sum, err := integrity.New(x.s).Check(ctx, check(true)); err != nil || sum.Repaired != 4 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}
