package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// TestKillLeavesEveryLifeWhole kills the server again and again, as often as
// TestKillLosesNothingAcknowledged does, while 16 clients do to memories of their
// own all that can be done. What was acknowledged is so afterwards, with links and
// versions and to searches; what was under way has happened whole or not at all.
func TestKillLeavesEveryLifeWhole(t *testing.T) {
	t.Parallel()
	bin := program(t)
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		store := []string{"--data", d.Dir}
		if d.Address != "" {
			store = []string{"--data", t.TempDir(), "--db", d.Address}
		}
		c := newCrew(newVictim(t, bin, store...), 16)
		for range rounds(t) {
			c.restart(t)
			c.work(t, time.Duration(20+rand.IntN(280))*time.Millisecond)
		}
		c.restart(t)
		steps, open := 0, 0
		for _, k := range c.keepers {
			steps, open = steps+k.steps, open+k.happened
		}
		t.Logf("%d changes were acknowledged, %d more had happened", steps, open)
	})
}

// A crew is the clients of a victim.
type crew struct {
	*victim
	keepers []*keeper
}

func newCrew(v *victim, n int) *crew {
	c := &crew{victim: v}
	for i := range n {
		c.keepers = append(c.keepers, &keeper{v: v, n: i, lives: map[string]life{}})
	}
	return c
}

// work has all clients work until the server is killed, after a while.
func (c *crew) work(t *testing.T, after time.Duration) {
	server := c.running.Process
	time.AfterFunc(after, func() { server.Kill() })
	c.all(func(k *keeper) {
		for k.step(t) {
		}
	})
	c.kill()
}

// restart starts the server and compares all that there is with what the clients know.
func (c *crew) restart(t *testing.T) {
	t.Helper()
	c.start(t)
	c.all(func(k *keeper) { k.settle(t) })
	c.all(func(k *keeper) { k.check(t) })
	want := 0
	for _, k := range c.keepers {
		want += len(k.lives)
	}
	var status loci.AccountStatus
	if _, err := c.call("GET", "/v1/status", "", nil, &status); err != nil || status.Totals.Memories != int64(want) {
		t.Errorf("%d memories are counted, %d should be there: %v", status.Totals.Memories, want, err)
	}
	c.admin(t, "check")
	if t.Failed() {
		t.FailNow()
	}
}

func (c *crew) all(f func(*keeper)) {
	var clients sync.WaitGroup
	for _, k := range c.keepers {
		clients.Go(func() { f(k) })
	}
	clients.Wait()
}

// A life is what a memory is and was. It is a value: a change makes another one.
type life struct {
	was          []state // its versions, oldest first; the last is the present one
	supersededBy string
	supersedes   []string
	words        []string // that it has, or had
}

// A state is what a version tells.
type state struct {
	title, content, tag, evidence string
	status                        loci.Status
}

func (l life) now() state { return l.was[len(l.was)-1] }

// next is the life with a further version.
func (l life) next(s state) life {
	l.was = append(slices.Clip(l.was), s)
	return l
}

// A keeper is a client with memories of its own, which nobody else changes.
type keeper struct {
	v     *victim
	n     int
	lives map[string]life
	open  *step // sent, and not answered

	words, steps, happened int
}

// A step is a call and what it makes of memories; one that is gone has no
// versions. The first id is that of the memory whose change it is, empty for a
// new one.
type step struct {
	method, path string
	body         any
	id           string
	after        map[string]life
}

// word returns a word that is nowhere else. It has no vowel, so that it is its own
// stem, and is so far from all others that no search takes one for a slip of another.
func (k *keeper) word() string {
	k.words++
	h := sha256.Sum256(fmt.Append(nil, k.n, " ", k.words))
	return strings.Map(func(r rune) rune { return rune("bcdfghjkmnpqrstv"[strings.IndexRune("0123456789abcdef", r)]) }, fmt.Sprintf("%x", h[:8]))
}

// step does something and reports whether the server lives.
func (k *keeper) step(t *testing.T) bool {
	k.open = k.draw()
	var out loci.OneMemory
	status, err := k.v.call(k.open.method, k.open.path, "", k.open.body, &out)
	switch {
	case status == 0:
		return false
	case err != nil:
		t.Errorf("told %v", err)
		return false
	}
	k.steps++
	k.done(out.Memory.ID)
	return true
}

// done takes over what the open step has made; id is that of a new memory.
func (k *keeper) done(id string) {
	for of, l := range k.open.after {
		if of == "" {
			of = id
		}
		if k.lives[of] = l; l.was == nil {
			delete(k.lives, of)
		}
	}
	k.open = nil
}

// draw chooses what to do next among what is allowed.
func (k *keeper) draw() *step {
	if n := len(k.lives); n < 2 || n < 8 && rand.IntN(4) == 0 {
		w := k.word()
		text := w + " is where it begins" // and its title for good
		return &step{"POST", "/v1/memories", map[string]any{"content": text}, "",
			map[string]life{"": {was: []state{{title: text, content: text, status: loci.Active}}, words: []string{w}}}}
	}
	for {
		ids := make([]string, 0, len(k.lives))
		for id := range k.lives {
			ids = append(ids, id)
		}
		if s := k.change(ids[rand.IntN(len(ids))], ids[rand.IntN(len(ids))]); s != nil {
			return s
		}
	}
}

// change draws a change of a memory, nil where it does not suit its state. Other
// is one that may replace it.
func (k *keeper) change(id, other string) *step {
	l := k.lives[id]
	s := l.now()
	active := s.status == loci.Active
	made := func(verb string, body any, after life) *step {
		return &step{"POST", "/v1/memories/" + id + verb, body, id, map[string]life{id: after}}
	}
	switch what := rand.IntN(10); {
	case what == 0:
		return k.removed(id)
	case what == 1:
		s.evidence = "seen " + k.word()
		return made("/verify", map[string]any{"evidence": s.evidence}, l.next(s))
	case what == 2 && !active && l.supersededBy == "":
		s.status = loci.Active
		return made("/restore", nil, l.next(s))
	case !active:
		return nil
	case what == 3:
		s.status = loci.Archived
		return made("/archive", nil, l.next(s))
	case what == 4 && other != id && k.lives[other].now().status == loci.Active:
		s.status = loci.Superseded
		done := made("/supersede", map[string]any{"replacementMemoryId": other}, l.next(s))
		mine, its := done.after[id], k.lives[other]
		mine.supersededBy, its.supersedes = other, append(slices.Clip(its.supersedes), id)
		done.after[id], done.after[other] = mine, its
		return done
	case what == 5:
		n := rand.IntN(len(l.was))
		if s.content, s.tag = l.was[n].content, l.was[n].tag; s != l.now() {
			return made("/revert", map[string]any{"version": n + 1}, l.next(s))
		}
	case what == 6:
		if s.tag = []string{"red", "blue"}[rand.IntN(2)]; s != l.now() {
			return &step{"PATCH", "/v1/memories/" + id, map[string]any{"tags": []string{s.tag}}, id, map[string]life{id: l.next(s)}}
		}
	case what == 7:
		w := k.word()
		s.content += "\n" + w + " goes on"
		l.words = append(slices.Clip(l.words), w)
		return made("/append", map[string]any{"content": w + " goes on"}, l.next(s))
	case what > 7:
		w := k.word()
		s.content = w + " is what it says now"
		l.words = append(slices.Clip(l.words), w)
		return &step{"PATCH", "/v1/memories/" + id, map[string]any{"content": s.content}, id, map[string]life{id: l.next(s)}}
	}
	return nil
}

// removed deletes a memory, and so its links.
func (k *keeper) removed(id string) *step {
	after := map[string]life{id: {}}
	for of, l := range k.lives {
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
	return &step{"DELETE", "/v1/memories/" + id, nil, id, after}
}

// settle finds out whether the step happened that was open when the server was
// killed: by the memory whose change it was. Whether all of it did, check tells.
func (k *keeper) settle(t *testing.T) {
	if k.open == nil {
		return
	}
	id, happened := k.open.id, false
	after := k.open.after[id]
	if id == "" {
		for _, m := range k.find(t, after.words[0]) {
			id, happened = m, true
		}
	} else {
		var m loci.Memory
		status, err := k.v.call("GET", "/v1/memories/"+id, "", nil, &m)
		if err != nil && status != http.StatusNotFound {
			t.Error(err)
		}
		happened = m.Version == len(after.was)
	}
	if happened {
		k.happened++
		k.done(id)
	}
	k.open = nil
}

// check compares the client's memories with what it knows of them.
func (k *keeper) check(t *testing.T) {
	for id, l := range k.lives {
		var m loci.Memory
		if _, err := k.v.call("GET", "/v1/memories/"+id, "", nil, &m); err != nil {
			t.Errorf("a memory of %d versions: %v", len(l.was), err)
			continue
		}
		if got := seen(m.Title, m.Content, m.Evidence, m.Tags, m.Status); got != l.now() || m.Version != len(l.was) || m.SupersededBy != l.supersededBy || !slices.Equal(m.Supersedes, l.supersedes) {
			t.Errorf("%s is version %d, %+v, %s, %v\nwant %d, %+v, %s, %v", id, m.Version, got, m.SupersededBy, m.Supersedes, len(l.was), l.now(), l.supersededBy, l.supersedes)
		}
		k.checkVersions(t, id, l)
		for _, w := range l.words[max(0, len(l.words)-3):] {
			var want []string
			if l.now().status == loci.Active && strings.Contains(l.now().title+l.now().content, w) {
				want = []string{id}
			}
			if got := k.find(t, w); !slices.Equal(got, want) {
				t.Errorf("%s finds %v, want %v: %+v", w, got, want, l.now())
			}
		}
	}
}

func (k *keeper) checkVersions(t *testing.T, id string, l life) {
	var page loci.MemoryVersions
	if _, err := k.v.call("GET", "/v1/memories/"+id+"/versions?limit=100", "", nil, &page); err != nil {
		t.Error(err)
	}
	var got []state
	for _, v := range page.Versions {
		got = append([]state{seen(v.Title, v.Content, v.Evidence, v.Tags, v.Status)}, got...)
	}
	if want := l.was[max(0, len(l.was)-100):]; !slices.Equal(got, want) {
		t.Errorf("the versions of %s are\n%+v\nwant\n%+v", id, got, want)
	}
}

func seen(title, content, evidence string, tags []string, status loci.Status) state {
	return state{title, content, strings.Join(tags, " "), evidence, status}
}

// find returns the ids of what a word finds.
func (k *keeper) find(t *testing.T, word string) (ids []string) {
	var out loci.FoundMemories
	if _, err := k.v.call("POST", "/v1/memories/search", "", map[string]any{"query": word, "mode": "keyword"}, &out); err != nil {
		t.Error(err)
	}
	for _, m := range out.Memories {
		ids = append(ids, m.ID)
	}
	return ids
}
