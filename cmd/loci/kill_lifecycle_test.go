package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestKillKeepsHistoriesConsistent kills the server repeatedly while 16 clients change their own memories in every way.
// Every acknowledged change is present afterwards, with its links and versions, and in searches. An unacknowledged
// change happened as a whole or not at all. A creation that is repeated with its Idempotency-Key is made once, and gets
// the same answer.
func TestKillKeepsHistoriesConsistent(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		c := newWorkload(newTestServer(t, bin, storeFlags(t, d)...), 16)
		for range rounds(t, 25) {
			c.restartAndCheck(t)
			c.runUntilKilled(len(c.workers), time.Duration(20+rand.IntN(280))*time.Millisecond, func(i int) {
				for c.workers[i].runStep(t) {
				}
			})
		}
		c.restartAndCheck(t)
		steps, open := 0, 0
		for _, k := range c.workers {
			steps, open = steps+k.steps, open+k.applied
		}
		t.Logf("%d changes were acknowledged, %d more had happened", steps, open)
	})
}

// A workload is the set of clients of one server.
type workload struct {
	*testServer
	workers []*worker
}

func newWorkload(v *testServer, n int) *workload {
	c := &workload{testServer: v}
	for i := range n {
		c.workers = append(c.workers, &worker{v: v, n: i, memories: map[string]memoryHistory{}})
	}
	return c
}

// restartAndCheck starts the server and compares its memories with the records of the clients.
func (c *workload) restartAndCheck(t *testing.T) {
	t.Helper()
	c.start(t)
	c.forAll(func(k *worker) {
		k.resolveUnanswered(t)
		if k.keyed != nil {
			testenv.Equal(t, k.repeat(t, k.keyed), k.newest)
		}
	})
	c.forAll(func(k *worker) { k.check(t) })
	var want []string // with those of unanswered creations that happened
	for _, k := range c.workers {
		want = slices.AppendSeq(want, maps.Keys(k.memories))
	}
	slices.Sort(want)
	testenv.EqualSlices(t, c.list(t), want, "the memories of the list")
	var status loci.AccountStatus
	if _, err := c.call("GET", "/v1/status", "", nil, &status); err != nil ||
		status.Totals.Memories != int64(len(want)) {
		t.Errorf("%d memories are counted, %d should be there: %v", status.Totals.Memories, len(want), err)
	}
	c.admin(t, "check")
	if t.Failed() {
		t.FailNow()
	}
}

// list returns the ids of all pages of the list of memories, sorted. An id that is listed twice is in it twice.
func (c *workload) list(t *testing.T) (ids []string) {
	t.Helper()
	for m, err := range loci.AllItems(loci.Paging{Limit: 10}, func(at loci.Paging) ([]loci.Memory, loci.Page, error) {
		path := fmt.Sprintf("/v1/memories?include=archived,superseded&limit=%d", at.Limit)
		if at.Cursor != "" {
			path += "&cursor=" + url.QueryEscape(string(at.Cursor))
		}
		var out loci.Memories
		_, err := c.call("GET", path, "", nil, &out)
		return out.Memories, out.Page, err
	}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(m.ID))
	}
	slices.Sort(ids)
	return ids
}

func (c *workload) forAll(f func(*worker)) {
	var clients sync.WaitGroup
	for _, k := range c.workers {
		clients.Go(func() { f(k) })
	}
	clients.Wait()
}

// A memoryHistory is the present and the earlier states of a memory. It is a value: a change returns a new one.
type memoryHistory struct {
	versions     []memoryVersion // oldest first; the last is the current one
	supersededBy string
	supersedes   []string
	words        []string // that it has, or had
}

// A memoryVersion is the content of one version.
type memoryVersion struct {
	title, content, tag, evidence string
	status                        loci.MemoryStatus
}

func (l memoryHistory) current() memoryVersion { return l.versions[len(l.versions)-1] }

// withVersion returns the history with one more version.
func (l memoryHistory) withVersion(s memoryVersion) memoryHistory {
	l.versions = append(slices.Clip(l.versions), s)
	return l
}

// A worker is a client whose memories no other client changes.
type worker struct {
	v          *testServer
	n          int
	memories   map[string]memoryHistory
	unanswered *mutation // sent, and not answered
	keyed      *mutation // the last creation with a key, of which newest is the memory
	newest     string

	words, steps, applied int
}

// A mutation is a call and its effect on memories; a deleted memory has no
// versions. The first id is that of the changed memory, empty for a new one.
type mutation struct {
	method, path string
	body         any
	id           string
	after        map[string]memoryHistory
	key          string // Idempotency-Key of a creation, or ""
}

// newWord returns a unique word. It has no vowel, so that stemming keeps it,
// and is so far from all others that spelling correction never confuses two.
func (k *worker) newWord() string {
	k.words++
	h := sha256.Sum256(fmt.Append(nil, k.n, " ", k.words))
	return strings.Map(func(r rune) rune { return rune("bcdfghjkmnpqrstv"[strings.IndexRune("0123456789abcdef", r)]) },
		fmt.Sprintf("%x", h[:8]))
}

// runStep makes one change and reports whether the server still runs.
func (k *worker) runStep(t *testing.T) bool {
	k.unanswered = k.nextMutation()
	var out loci.OneMemory
	status, err := k.v.call(k.unanswered.method, k.unanswered.path, k.unanswered.key, k.unanswered.body, &out)
	switch {
	case status == 0:
		return false
	case err != nil:
		t.Errorf("told %v", err)
		return false
	}
	k.steps++
	k.commit(string(out.Memory.ID))
	return true
}

// commit records the effect of the unanswered step; id is that of a new memory.
func (k *worker) commit(id string) {
	if k.unanswered.key != "" {
		k.keyed, k.newest = k.unanswered, id
	}
	for of, l := range k.unanswered.after {
		if of == "" {
			of = id
		}
		if k.memories[of] = l; l.versions == nil {
			delete(k.memories, of)
			if of == k.newest {
				k.keyed = nil // its answer is deleted too
			}
		}
	}
	k.unanswered = nil
}

// nextMutation draws one of the allowed changes.
func (k *worker) nextMutation() *mutation {
	if n := len(k.memories); n < 2 || n < 8 && rand.IntN(4) == 0 {
		w := k.newWord()
		text := w + " is where it begins"
		m := &mutation{method: "POST", path: "/v1/memories", body: map[string]any{"content": text},
			after: map[string]memoryHistory{"": {versions: []memoryVersion{{title: text, content: text,
				status: loci.MemoryActive}}, words: []string{w}}}}
		if rand.IntN(2) == 0 {
			m.key = "key-" + w
		}
		return m
	}
	for {
		ids := make([]string, 0, len(k.memories))
		for id := range k.memories {
			ids = append(ids, id)
		}
		if s := k.mutate(ids[rand.IntN(len(ids))], ids[rand.IntN(len(ids))]); s != nil {
			return s
		}
	}
}

// mutate draws a change of a memory, or returns nil where its state does not
// allow the change. Other is a memory that may replace it.
func (k *worker) mutate(id, other string) *mutation {
	l := k.memories[id]
	s := l.current()
	active := s.status == loci.MemoryActive
	made := func(verb string, body any, after memoryHistory) *mutation {
		return &mutation{"POST", "/v1/memories/" + id + verb, body, id, map[string]memoryHistory{id: after}, ""}
	}
	switch what := rand.IntN(10); {
	case what == 0:
		return k.deletion(id)
	case what == 1:
		s.evidence = "seen " + k.newWord()
		return made("/verify", map[string]any{"evidence": s.evidence}, l.withVersion(s))
	case what == 2 && !active:
		s.status = loci.MemoryActive
		done := made("/restore", nil, l.withVersion(s))
		if by, ok := k.memories[l.supersededBy]; ok {
			by.supersedes = slices.DeleteFunc(slices.Clone(by.supersedes), func(of string) bool { return of == id })
			mine := done.after[id]
			mine.supersededBy = ""
			done.after[id], done.after[l.supersededBy] = mine, by
		}
		return done
	case !active:
		return nil
	case what == 3:
		s.status = loci.MemoryArchived
		return made("/archive", nil, l.withVersion(s))
	case what == 4 && other != id && k.memories[other].current().status == loci.MemoryActive:
		s.status = loci.MemorySuperseded
		done := made("/supersede", map[string]any{"replacementMemoryId": other}, l.withVersion(s))
		mine, its := done.after[id], k.memories[other]
		mine.supersededBy, its.supersedes = other, append(slices.Clip(its.supersedes), id)
		done.after[id], done.after[other] = mine, its
		return done
	case what == 5:
		n := rand.IntN(len(l.versions))
		former := l.versions[n]
		if former.content != s.content {
			s.evidence = "" // a review ends with its content
		}
		if s.title, s.content, s.tag = former.title, former.content, former.tag; s != l.current() {
			return made("/revert", map[string]any{"version": n + 1}, l.withVersion(s))
		}
	case what == 6:
		if s.tag = []string{"red", "blue"}[rand.IntN(2)]; s != l.current() {
			return &mutation{"PATCH", "/v1/memories/" + id, map[string]any{"tags": []string{s.tag}}, id,
				map[string]memoryHistory{id: l.withVersion(s)}, ""}
		}
	case what == 7:
		w := k.newWord()
		s.content, s.evidence = s.content+"\n"+w+" goes on", ""
		l.words = append(slices.Clip(l.words), w)
		return made("/append", map[string]any{"content": w + " goes on"}, l.withVersion(s))
	case what > 7:
		w := k.newWord()
		s.content, s.evidence = w+" is what it says now", ""
		s.title = s.content // nobody gave it, so it follows
		l.words = append(slices.Clip(l.words), w)
		return &mutation{"PATCH", "/v1/memories/" + id, map[string]any{"content": s.content}, id,
			map[string]memoryHistory{id: l.withVersion(s)}, ""}
	}
	return nil
}

// deletion deletes a memory and its links.
func (k *worker) deletion(id string) *mutation {
	after := map[string]memoryHistory{id: {}}
	for of, l := range k.memories {
		if of == id {
			continue
		}
		if l.supersededBy == id {
			l.supersededBy = ""
			after[of] = l
		}
		if slices.Contains(l.supersedes, id) {
			l.supersedes = slices.DeleteFunc(slices.Clone(l.supersedes), func(s string) bool { return s == id })
			after[of] = l
		}
	}
	return &mutation{"DELETE", "/v1/memories/" + id, nil, id, after, ""}
}

// resolveUnanswered finds out from the changed memory whether the unanswered
// step happened. Check compares the whole effect.
func (k *worker) resolveUnanswered(t *testing.T) {
	if k.unanswered == nil {
		return
	}
	id, happened := k.unanswered.id, false
	after := k.unanswered.after[id]
	if k.unanswered.key != "" {
		id, happened = k.repeat(t, k.unanswered), true
	} else if id == "" {
		for _, m := range k.find(t, after.words[0]) {
			id, happened = m, true
		}
	} else {
		var m loci.Memory
		status, err := k.v.call("GET", "/v1/memories/"+id, "", nil, &m)
		if err != nil && status != http.StatusNotFound {
			t.Error(err)
		}
		happened = m.Version == len(after.versions)
	}
	if happened {
		k.applied++
		k.commit(id)
	}
	k.unanswered = nil
}

// repeat repeats a creation with its key, and returns the id of the memory.
func (k *worker) repeat(t *testing.T, m *mutation) string {
	var out loci.CreatedMemory
	if status, err := k.v.call(m.method, m.path, m.key, m.body, &out); err != nil || status != http.StatusCreated {
		t.Errorf("%s again: %d, %v", m.key, status, err)
	}
	return string(out.Memory.ID)
}

// check compares the client's memories with its records.
func (k *worker) check(t *testing.T) {
	for id, l := range k.memories {
		var m loci.Memory
		if _, err := k.v.call("GET", "/v1/memories/"+id, "", nil, &m); err != nil {
			t.Errorf("a memory of %d versions: %v", len(l.versions), err)
			continue
		}
		if got := newVersion(m.Title, m.Content, m.Evidence, m.Tags,
			m.Status); got != l.current() || m.Version != len(l.versions) ||
			m.SupersededBy != loci.ID(l.supersededBy) ||
			fmt.Sprint(m.Supersedes) != fmt.Sprint(l.supersedes) {
			t.Errorf("%s is version %d, %+v, %s, %v\nwant %d, %+v, %s, %v", id, m.Version, got, m.SupersededBy,
				m.Supersedes, len(l.versions), l.current(), l.supersededBy, l.supersedes)
		}
		k.checkVersions(t, id, l)
		for _, w := range l.words[max(0, len(l.words)-3):] {
			var want []string
			if l.current().status == loci.MemoryActive && strings.Contains(l.current().title+l.current().content, w) {
				want = []string{id}
			}
			testenv.EqualSlices(t, k.find(t, w), want, w)
		}
	}
}

func (k *worker) checkVersions(t *testing.T, id string, l memoryHistory) {
	var page loci.MemoryVersions
	if _, err := k.v.call("GET", "/v1/memories/"+id+"/versions?limit=100", "", nil, &page); err != nil {
		t.Error(err)
	}
	var got []memoryVersion
	for _, v := range page.Versions {
		got = append([]memoryVersion{newVersion(v.Title, v.Content, v.Evidence, v.Tags, v.Status)}, got...)
	}
	if want := l.versions[max(0, len(l.versions)-100):]; !slices.Equal(got, want) {
		t.Errorf("the versions of %s are\n%+v\nwant\n%+v", id, got, want)
	}
}

func newVersion(title, content, evidence string, tags []string, status loci.MemoryStatus) memoryVersion {
	return memoryVersion{title, content, strings.Join(tags, " "), evidence, status}
}

// find returns the ids of the memories that a word finds.
func (k *worker) find(t *testing.T, word string) (ids []string) {
	var out loci.FoundMemories
	if _, err := k.v.call("POST", "/v1/memories/search", "", map[string]any{"query": word, "mode": "keyword"},
		&out); err != nil {
		t.Error(err)
	}
	for _, m := range out.Memories {
		ids = append(ids, string(m.ID))
	}
	return ids
}
