package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/dates"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// dated searches memories given as lines: the day of creation, a space, the content. It returns the contents of the
// hits, best first.
func dated(t *testing.T, query string, lines ...string) (found []string) {
	t.Helper()
	d := indextest.NewStore()
	var changes []index.DocUpdate
	var texts []string
	for i, line := range lines {
		day, text, _ := strings.Cut(line, " ")
		made := testenv.Must(time.Parse(time.DateOnly, day))(t)
		c := indextest.Update(int64(i+1), int64(i+1), text)
		c.Created = made.UnixMicro()
		changes, texts = append(changes, c), append(texts, text)
	}
	q, r, err := Search(d.Flush(t, 1, changes), index.NewCache(0), d.Fetch, Parse(query), index.Filter{}, 0, len(lines))
	if err != nil || len(r.Hits) == 0 {
		t.Fatalf("%s finds %v, %v", query, r.Hits, err)
	}
	read := make([]*DocMatches, len(r.Hits))
	for i, h := range r.Hits {
		read[i] = q.Matcher().MatchDoc("", texts[h.Memory-1])
	}
	boost := r.DateBoost(q, r.Hits[0].Score)
	r.Rescore(q, r.Hits, read)
	for i, h := range r.Hits {
		r.Hits[i] = h.BoostDate(dates.Parse(query), "", texts[h.Memory-1], boost)
	}
	SortHits(r.Hits)
	for _, h := range r.Hits {
		found = append(found, texts[h.Memory-1])
	}
	return found
}

func TestSearchPrefersTheDateToItsWordsApart(t *testing.T) {
	t.Parallel()
	apart := "2024-01-09 The march to the north took 14 days; we decide in 2025 again whether it was worth it, and " +
		"tell all."
	rest := []string{"2024-02-02 Nothing of it.", "2024-02-03 And more of this.", "2024-02-04 The end from here.",
		"2024-02-05 A red house.", "2024-02-06 A green boat."}
	for _, c := range []struct{ query, want string }{
		{"what did we decide on 14 March 2025", "2025-03-14 We decided to buy the larger pump for the second hall, " +
			"and to sell the old one."},
		{"what did we decide on 14 March 2025", "2024-06-01 The pump was decided upon in a long meeting in the " +
			"second hall (2025-03-14), and nobody objected."},
		{"what did we decide on 14 March 2025", "2024-06-01 The pump was decided upon in a long meeting in the " +
			"second hall, on the 14th of March 2025."},
		{"what did we decide on 2025-03-14", "2024-06-01 The pump was decided upon in a long meeting in the second " +
			"hall (2025-03-14), and nobody objected."},
		{"what did we decide on March 14", "2023-03-14 We decided to buy the larger pump for the second hall, and to " +
			"sell the old one."},
		{"what did we decide in March 2025", "2025-03-20 We decided to buy the larger pump for the second hall, and " +
			"to sell the old one."},
	} {
		_, want, _ := strings.Cut(c.want, " ")
		if got := dated(t, c.query, append([]string{apart, c.want}, rest...)...); got[0] != want {
			t.Errorf("%s finds first %q, not %q", c.query, got[0], want)
		}
	}
}

func TestDateFormIsRewarded(t *testing.T) {
	t.Parallel()
	got := dated(t, "release 2025-03-14", "2025-03-14 The release went out to all.",
		"2025-03-14 The release of 2025-03-14 went out.", "2024-01-01 And this from here.")
	testenv.Equal(t, got[0], "The release of 2025-03-14 went out.", "found")
}

func TestWordsOfADateWeighLessThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, want string }{
		{"decided on 14 March 2025", "14 2025 march"},
		{"decided in March 2025 by 14", "2025 march"},
		{"the march of 14 March 2025", "14 2025"},
		{"14 March 2025, 14 people", "2025 march"},
		{"decided on 2025-03-14", "03 14 2025"},
		{"２０２３年５月７日の会議", "2023 5 7 年 日 月"},
		{"решили 7 мая 2023", "2023 7 мая"},
		{"decided in march", ""},
		{"14 horses march", ""},
	} {
		q, words := Parse(c.query), []string{}
		for _, x := range q.terms {
			if x.dated {
				words = append(words, x.text)
			}
		}
		for _, g := range q.unigrams {
			if strings.ContainsAny(g.text, "年月日") && c.want != "" {
				words = append(words, g.text)
			}
		}
		slices.Sort(words)
		testenv.Equal(t, strings.Join(slices.Compact(words), " "), c.want, c.query)
		full := withFullDates(Parse(c.query))
		for i, x := range full.terms {
			if want := q.terms[i].weight; x.dated || q.terms[i].dated && x.weight != 2*want ||
				!q.terms[i].dated && x.weight != want {
				t.Errorf("%s without dates: %+v, was %+v", c.query, x, q.terms[i])
			}
		}
	}
}

// withFullDates returns the query without the factor in the weights of date words.
func withFullDates(q Query) Query {
	q.terms = slices.Clone(q.terms)
	for i := range q.terms {
		if t := &q.terms[i]; t.dated {
			t.dated, t.weight = false, t.weight/dateWordWeight
		}
	}
	return q
}

func TestMentionsReadABoundedPartOfAText(t *testing.T) {
	t.Parallel()
	asked := dates.Parse("7 May 2023")
	for text, want := range map[string]bool{
		"we met (2023-05-07) in the hall": true, "on 7 мая 2023": true, "on 8 May 2023": false,
		"7 and May, 2023": false, "": false,
		"the 7th of May, as in every year": true,
	} {
		testenv.Equal(t, dates.Mentions(text, asked), want, text, !want)
	}
	h, long := Hit{Score: 1, stateFactor: 1}, strings.Repeat("word ", mentionRunes)
	if distance := h.BoostDate(asked, "", long+"7 May 2023", 1); distance.Score > 1.001 {
		t.Errorf("a date after %d characters lifts to %v", len(long), distance.Score)
	}
	if near := h.BoostDate(asked, "", long[:5*(mentionRunes/10)]+"7 May 2023", 1); near.Score != 1+mentionProximity {
		t.Errorf("a date within the bound lifts to %v", near.Score)
	}
}

func TestBoostDateRanksDayFirstInAnyYear(t *testing.T) {
	t.Parallel()
	day := func(s string) int64 {
		when := testenv.Must(time.Parse(time.DateOnly, s))(t)
		return when.UnixMicro()
	}
	score := func(query, content, created string) float32 {
		return Hit{Created: day(created), stateFactor: 1}.BoostDate(dates.Parse(query), "", content, 1).Score
	}
	for _, c := range []struct {
		query, content, created string
		near                    bool
	}{
		{"7 May", "The pump broke.", "2021-05-07", true},
		{"7 мая", "[7 May 2019] The pump broke.", "2024-01-01", true},
		{"5月7日", "2019年5月7日 the pump broke.", "2024-01-01", true},
		{"1 January", "The pump broke.", "2023-12-31", true},
		{"31. Dezember", "The pump broke.", "2023-01-01", true},
		{"im Mai 2023", "Le 7 mai 2023, the pump broke.", "2024-01-01", true},
		{"7 May 2023", "7 мая: the pump broke.", "2023-06-01", true},
		{"1 January 2024", "1er janvier: the pump broke.", "2023-12-30", true},
		{"7 May 2023", "7 мая: the pump broke.", "2024-06-01", false},
		{"1 June 2024", "7 мая: the pump broke.", "2024-06-01", true},
		{"7 May", "The pump broke.", "2021-11-07", false},
		{"7 May", "November 7 2021: the pump broke.", "2021-05-07", false},
	} {
		if got := score(c.query, c.content, c.created); got > .9 != c.near || got > 1 {
			t.Errorf("%s adds %v to %s of %s", c.query, got, c.content, c.created)
		}
	}
}
