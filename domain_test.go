package loci_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func TestIDsRiseWithinMillisecondAndWhenClockStepsBack(t *testing.T) {
	t.Parallel()
	now := time.Now()
	last := loci.NewID(now)
	for i := range 10_000 {
		id := loci.NewID(now.Add(time.Duration(-i) * time.Microsecond))
		if id <= last || !id.Valid() {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
}

func TestInvalidIDsAreRejected(t *testing.T) {
	t.Parallel()
	good := loci.NewID(time.Now())
	for _, bad := range []string{"", "x", strings.ToUpper(string(good)), string(good) + "0", string(good[:35]),
		string(good[:14]) + "4" + string(good[15:]),
		"{" + string(good[1:]), strings.ReplaceAll(string(good), "-", "_")} {
		if loci.ID(bad).Valid() {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestVisibleCharactersAreLettersAndSigns(t *testing.T) {
	t.Parallel()
	for _, r := range ".—a1é東🎉→€_ﬁ♥\ufffd\ue000" {
		if !loci.IsVisible(r) {
			t.Errorf("%q is not visible", r)
		}
	}
	for _, r := range " \n\t\u00a0\u2003\u3000\u2028\u0085\x00\x1b\u200b\u200d\u2060\ufeff" +
		"\u00ad\u202e\u3164\u115f\ufe0f\u2800\U000e0041" {
		if loci.IsVisible(r) {
			t.Errorf("%q is visible", r)
		}
	}
}

func TestEmailValidAcceptsReachableAddresses(t *testing.T) {
	t.Parallel()
	for e, want := range map[loci.Email]bool{
		"a@b.c": true, "ann.lee+x@mail.example.org": true, "o'hara@example.com": true, "jörg@exämple.de": true,
		"a@localhost": true,
		"":            false, "a": false, "@b": false, "a@": false, "a@b@c": false, "a b@c.d": false, "a@b\n.c": false,
		"a@b..c": false, ".a@b.c": false, "a@.c": false,
		"a@-b.c": false, "<a@b.c>": false, "a,b@c.d": false, loci.Email(strings.Repeat("x", 65) + "@b.c"): false,
	} {
		if e.Valid() != want {
			t.Errorf("%q: %v", e, !want)
		}
	}
}

func TestEveryCodeHasStatusAndHint(t *testing.T) {
	t.Parallel()
	seen := map[loci.Code]bool{}
	for _, e := range loci.Catalogue {
		if seen[e.Code] || e.Status < 400 || e.Status > 599 || len(e.Hint) < 10 {
			t.Errorf("%+v", e)
		}
		seen[e.Code] = true
	}
	if loci.Code("made up").Status() != 500 {
		t.Error("a code outside of the catalogue has a status")
	}
}

func TestPendingInvitationExpiresByClock(t *testing.T) {
	t.Parallel()
	i := loci.Invitation{Status: loci.InvitationPending, ExpiresAt: 100}
	if i.At(99).Status != loci.InvitationPending || i.At(100).Status != loci.InvitationExpired {
		t.Error("it does not expire when it should")
	}
	if i.Status = loci.InvitationAccepted; i.At(200).Status != loci.InvitationAccepted {
		t.Error("an answered invitation expires")
	}
}

func TestQueryWithoutWordsIsEmpty(t *testing.T) {
	t.Parallel()
	for q, want := range map[loci.Query]bool{"": true, "   ": true, "\t\n\u3000": true, "\"\"": true, "?!...": true,
		"\u200b": true, "。": true,
		"a": false, "#1": false, "+": false, "$": false, "🙂": false, "日本": false, "\u0301": false} {
		if q.Empty() != want {
			t.Errorf("%q: %v", q, !want)
		}
	}
}

func TestSearchCostGrowsWithQueryLength(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 1, 1: 1, 199: 1, 200: 2, 2000: 11} {
		q := loci.Query(strings.Repeat("é", n))
		if a, b := (loci.SearchMemories{Query: q}).Cost(), (loci.ReadContext{Query: q}).Cost(); a != want || b != want {
			t.Errorf("%d characters cost %d and %d, want %d", n, a, b, want)
		}
	}
}
