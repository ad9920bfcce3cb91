package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

func newID() loci.ID { return loci.NewID(time.Now()) }

// each runs f on every kind of bucket.
func each(t *testing.T, f func(t *testing.T, b Bucket)) {
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		b := testenv.Must(OpenFolder(t.TempDir()))(t)
		f(t, b)
	})
	for _, parameters := range []string{"path=1", "path=0"} {
		t.Run("s3 "+parameters, func(t *testing.T) {
			t.Parallel()
			f(t, newS3(t, parameters))
		})
	}
}

func put(t *testing.T, b Bucket, text string) loci.ID {
	t.Helper()
	id := newID()
	testenv.NoError(t, b.Put(t.Context(), id, strings.NewReader(text), int64(len(text))))
	return id
}

func list(t *testing.T, b Bucket) (ids []loci.ID) {
	t.Helper()
	for o, err := range b.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestBucketKeepsObjectsUntilTheyAreDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Bucket) {
		testenv.NoError(t, b.Check(t.Context()))
		long := strings.Repeat("0123456789abcdef", 1<<16)
		var ids []loci.ID
		for _, text := range []string{"", "x", long} {
			id := newID()
			digest, err := Store(t.Context(), b, id, iotest.HalfReader(strings.NewReader(text)), int64(len(text)))
			sum := sha256.Sum256([]byte(text))
			if err != nil || digest.Size != int64(len(text)) || digest.SHA256 != hex.EncodeToString(sum[:]) ||
				string(digest.Head) != text[:min(len(text), MaxHead)] {
				t.Errorf("%d bytes: %d, %s, %v", len(text), digest.Size, digest.SHA256, err)
			}
			again, err := Read(t.Context(), b, id)
			if err != nil || again.Size != digest.Size || again.SHA256 != digest.SHA256 ||
				!bytes.Equal(again.Head, digest.Head) {
				t.Errorf("%d bytes are read as %d, %v", len(text), again.Size, err)
			}
			o, err := b.Head(t.Context(), id)
			if err != nil || o.ID != id || o.Size != int64(len(text)) || time.Since(o.ModifiedAt).Abs() > time.Hour {
				t.Errorf("%+v %v", o, err)
			}
			ids = append(ids, id)
		}
		slices.Sort(ids)
		testenv.EqualSlices(t, list(t, b), ids, "the bucket holds")
		for _, id := range ids {
			for range 2 {
				if err := b.Delete(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
			_, opened := b.Open(t.Context(), id)
			if _, err := b.Head(t.Context(), id); !errors.Is(err, ErrNotFound) || !errors.Is(opened, ErrNotFound) {
				t.Errorf("a deleted object: %v, %v", err, opened)
			}
		}
		if got := list(t, b); len(got) > 0 {
			t.Errorf("the bucket holds %v", got)
		}
	})
}

func TestObjectIsReadFromAnyPlace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Bucket) {
		r := testenv.Must(b.Open(t.Context(), put(t, b, "0123456789")))(t)
		defer r.Close()
		for _, c := range []struct {
			offset int64
			whence int
			want   string
		}{{7, io.SeekStart, "789"}, {-2, io.SeekEnd, "89"}, {0, io.SeekStart, "0123456789"}, {10, io.SeekStart, ""}} {
			testenv.Must(r.Seek(c.offset, c.whence))(t)
			if got, err := io.ReadAll(r); err != nil || string(got) != c.want {
				t.Errorf("from %d: %q, %v", c.offset, got, err)
			}
		}
		testenv.Equal(t, r.Size(), 10, "bytes")
	})
}

// An errorReader fails after a text.
type errorReader struct {
	io.Reader
	err error
}

func (r errorReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = r.err
	}
	return n, err
}

func TestBrokenBodiesLeaveNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Bucket) {
		broken := errors.New("the connection is lost")
		for name, c := range map[string]struct {
			body io.Reader
			want error
		}{
			"too short":  {strings.NewReader("123"), ErrLength},
			"too long":   {strings.NewReader("12345"), ErrLength},
			"lost":       {errorReader{strings.NewReader("12"), broken}, broken},
			"lost after": {errorReader{strings.NewReader("1234"), broken}, broken},
		} {
			id := newID()
			if err := b.Put(t.Context(), id, c.body, 4); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if _, err := b.Head(t.Context(), id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s left an object: %v", name, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Put(ctx, newID(), strings.NewReader("1234"), 4); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled upload: %v", err)
		}
		if got := list(t, b); len(got) > 0 {
			t.Errorf("the bucket holds %v", got)
		}
	})
}

func TestFirstObjectOfAnIDStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Bucket) {
		first := put(t, b, "first")
		if err := b.Put(t.Context(), first, strings.NewReader("other"), 5); !errors.Is(err, ErrExists) {
			t.Errorf("a second body: %v", err)
		}
		id := newID()
		var stored atomic.Int32
		var writers sync.WaitGroup
		for i := range 8 {
			writers.Go(func() {
				body := strings.Repeat(string(rune('a'+i)), 1<<16)
				switch err := b.Put(t.Context(), id, strings.NewReader(body), 1<<16); {
				case err == nil:
					stored.Add(1)
				case !errors.Is(err, ErrExists):
					t.Error(err)
				}
			})
		}
		writers.Wait()
		testenv.Equal(t, stored.Load(), 1, "of 8 bodies at once are stored")
		digest, err := Read(t.Context(), b, id)
		if err != nil || digest.Size != 1<<16 || bytes.Count(digest.Head, digest.Head[:1]) != MaxHead {
			t.Errorf("%d bytes, %v", digest.Size, err)
		}
	})
}

func TestNamesThatAreNoIDsAreNoObjects(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b Bucket) {
		for _, id := range []loci.ID{"", ".", "../x", "uploads", "a/b", loci.ID(strings.Repeat("x", 36))} {
			_, opened := b.Open(t.Context(), id)
			_, described := b.Head(t.Context(), id)
			if err := b.Put(t.Context(), id, strings.NewReader("x"), 1); !errors.Is(err, ErrNotFound) ||
				!errors.Is(opened, ErrNotFound) || !errors.Is(described, ErrNotFound) ||
				b.Delete(t.Context(), id) != nil {
				t.Errorf("%q: %v, %v, %v", id, err, opened, described)
			}
		}
	})
}

// paths lists the files in a folder with their modes.
func paths(t *testing.T, dir string) (list []string) {
	t.Helper()
	testenv.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, path)
		list = append(list, info.Mode().String()+" "+filepath.ToSlash(rel))
		return err
	}))
	return list
}

func TestFolderKeepsFilesOfTheOwnerInTwoLevels(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "files")
	f := testenv.Must(OpenFolder(dir))(t)
	id := string(put(t, f, "text"))
	want := "-rw------- " + id[34:] + "/" + id[32:34] + "/" + id
	if got := paths(t, dir); runtime.GOOS != "windows" && (len(got) != 1 || got[0] != want) {
		t.Errorf("the files %v, want %s", got, want)
	}
	info, err := os.Stat(filepath.Join(dir, id[34:]))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestFolderDeletesWhatOldUploadsHaveLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := testenv.Must(OpenFolder(dir))(t)
	for name, age := range map[string]time.Duration{"old": uploadTime + time.Hour, "running": uploadTime / 2} {
		testenv.NoError(t, os.MkdirAll(f.uploads(), 0o700))
		path := filepath.Join(f.uploads(), name)
		testenv.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		testenv.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	testenv.Must(OpenFolder(dir))(t)
	if got := strings.Join(paths(t, dir), " "); !strings.HasSuffix(got, "uploads/running") ||
		strings.Contains(got, "old") {
		t.Errorf("the files %s", got)
	}
	if got := list(t, f); len(got) > 0 {
		t.Errorf("unfinished files are the objects %v", got)
	}
}
