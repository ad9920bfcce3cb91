package integrity_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// damage runs statements behind the back. {a} is the id of an active attachment, {memory} that of its memory.
func (x *fileTest) damage(statement string) {
	x.t.Helper()
	x.d.Exec(x.t, strings.NewReplacer("{a}", `'`+string(x.active[0])+`'`, "{memory}", `'`+string(x.memories[0].ID)+
		`'`).Replace(statement))
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

		if err := x.bucket.Delete(ctx, x.active[0]); err != nil {
			t.Fatal(err)
		}
		x.find(check(true), integrity.InconsistentObjects, "is missing", false)
		if x.count("attachments") != "4" {
			t.Error("a repair has deleted a row")
		}
		if err := x.bucket.Put(ctx, x.active[0], strings.NewReader("hello"), 5); err != nil {
			t.Fatal(err)
		}

		orphan := loci.NewID(time.Now())
		if err := x.bucket.Put(ctx, orphan, strings.NewReader("nobody's"), 8); err != nil {
			t.Fatal(err)
		}
		objects.age = 23 * time.Hour
		healthy()
		objects.age = 25 * time.Hour
		x.find(check(false), integrity.InconsistentObjects, "no attachment has", false)
		x.find(check(true), integrity.InconsistentObjects, "no attachment has", true)
		healthy()
		if list := x.objects(); len(list) != 4 {
			t.Errorf("%d objects are left", len(list))
		}

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
