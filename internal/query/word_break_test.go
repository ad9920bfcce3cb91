package query

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
)

func TestSearchFindsJoinedAndSplitSpellings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		queries []string
	}{
		{"set max_shards to five", []string{"maxshards", "maxShards", "max-shards", "max_shards", "max shards",
			"MAXSHARDS"}},
		{"set maxshards to five", []string{"max_shards", "maxShards", "max-shards", "max shards"}},
		{"set maxShards to five", []string{"max_shards", "maxshards", "max-shards"}},
		{"runs on node.js today", []string{"nodejs", "NodeJS", "node js", "node-js"}},
		{"runs on nodejs today", []string{"node.js", "Node.js", "node js"}},
		{"a white box test", []string{"whitebox", "white-box", "Whitebox"}},
		{"a whitebox test", []string{"white box", "white-box"}},
		{"a white-box test", []string{"white box", "whitebox"}},
		{"call it with --dry-run first", []string{"dryrun", "dry-run", "--dry-run", "dry run", "dry_run"}},
		{"a dryrun first", []string{"--dry-run", "dry run"}},
		{"call 555-0123 now", []string{"5550123", "555-0123"}},
		{"call 5550123 now", []string{"555-0123"}},
		{"fixed in 4f2a9c1d5b6e7f8091a2b3c4d5e6f708192a3b4c", []string{"4f2a9c1", "4f2a9c1d5b", "4F2A9C1"}},
		{"fixed in 4f2a9c1", []string{"4f2a9c1d5b6e7f8091a2b3c4d5e6f708192a3b4c", "4f2a9c1d5"}},
		{"id 550e8400-e29b-41d4-a716-446655440000", []string{"550e8400e29b41d4a716446655440000"}},
	} {
		d := indextest.NewStore()
		v := buildSnapshot(t, d, "something else and more", c.text, "end of it", "more of it", "and with this from you")
		for _, query := range c.queries {
			if got, err := searchRewritten(v, d, query); err != nil || len(got) == 0 || got[0] != 2 {
				t.Errorf("%q: %s finds %v, %v", c.text, query, got, err)
			}
		}
	}
}

func TestAnalyzerKeepsSeparateNumbers(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "version 1.2.3 of it", "a ratio of 3.14", "v1.4 came", "in a/b.go", "end of it")
	for _, query := range []string{"123", "314", "abgo"} {
		if got, err := searchRewritten(v, d, query); err != nil || len(got) != 0 {
			t.Errorf("%s finds %v, %v", query, got, err)
		}
	}
}

func TestBreakWordNeedsDocumentWithBothParts(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "a red house", "a boat and a house by the sea", "a row of boats", "end of it")
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("boathouse redboat"))
	if err != nil || !slices.Equal(q.Corrections(), []Correction{{"boathouse", "boat house"}}) ||
		len(q.wordBigrams) == 0 {
		t.Errorf("%v, %v, %v", q.Corrections(), q.wordBigrams, err)
	}
	if v = v.Apply([]index.DocUpdate{{Seq: 9, DocAttributes: index.DocAttributes{Memory: 2}, Deleted: true}}); true {
		if q, err = rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("boathouse")); err != nil ||
			q.Corrections() != nil {
			t.Errorf("of the dead: %v, %v", q.Corrections(), err)
		}
	}
}
