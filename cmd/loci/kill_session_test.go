package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestKillKeepsEvents kills the server repeatedly while 16 sessions deliver events, as often as rounds says. An
// acknowledged event is known afterwards, and an event that is delivered again makes nothing twice.
func TestKillKeepsEvents(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		k := &eventKiller{testServer: newTestServer(t, bin, storeFlags(t, d)...)}
		k.start(t)
		k.must(t, "PUT", "/v1/auto", map[string]any{"enabled": true}, &loci.OnePolicy{})
		for round := range rounds(t, 50) {
			deliveries := k.startSessions(t, round)
			k.deliverUntilKilled(t, deliveries, time.Duration(50+rand.IntN(650))*time.Millisecond)
			k.start(t)
			for _, s := range deliveries {
				k.deliverAgain(t, s)
				k.verifySession(t, s)
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		k.kill()
		k.admin(t, "check")
		t.Logf("%d events were acknowledged, %d were not and came again, %d of these were known", k.acknowledged,
			k.unsure, k.known)
	})
}

// An eventKiller is a server that gets killed while events arrive.
type eventKiller struct {
	*testServer
	acknowledged, unsure, known int
}

// A delivery is the events of a session.
type delivery struct {
	session loci.ID
	client  int
	events  []deliveredEvent
}

// A deliveredEvent is an event that was sent; candidate is empty where no answer came.
type deliveredEvent struct {
	id, content string
	candidate   loci.ID
}

func (k *eventKiller) must(t *testing.T, method, path string, in, out any) {
	t.Helper()
	_ = testenv.Must(k.call(method, path, "", in, out))(t)
}

func (k *eventKiller) startSessions(t *testing.T, round int) (list []*delivery) {
	for client := range 16 {
		var out loci.StartedSession
		k.must(t, "POST", "/v1/sessions", map[string]any{"task": "Paint the gates", "kind": "automatic",
			"adapter": "claude", "externalId": fmt.Sprintf("run %d of %d", round, client)}, &out)
		list = append(list, &delivery{session: out.Session.ID, client: round*16 + client})
	}
	return list
}

// deliverUntilKilled sends events of all sessions at once until the server is killed after a delay.
func (k *eventKiller) deliverUntilKilled(t *testing.T, list []*delivery, after time.Duration) {
	k.runUntilKilled(len(list), after, func(i int) {
		d := list[i]
		for n := 0; n < loci.MaxCandidates; n++ {
			e := deliveredEvent{id: fmt.Sprint("event ", n), content: fmt.Sprintf(
				"We decided: the %s gate is painted %sx from now on.", nonsense(d.client), nonsense(n))}
			out, status, err := k.deliver(d.session, e)
			if err == nil && (out.Duplicate || len(out.Candidates) != 1 || out.Candidate.Content != e.content) {
				t.Errorf("%q gets %+v", e.content, out)
			}
			if err != nil && status != 0 {
				t.Error(err)
			}
			if err == nil {
				e.candidate = out.Candidate.ID
			}
			if d.events = append(d.events, e); err != nil {
				return
			}
		}
	})
}

func (k *eventKiller) deliver(session loci.ID, e deliveredEvent) (out loci.ReceivedEvent, status int, err error) {
	status, err = k.call("POST", "/v1/sessions/"+string(session)+"/events", "", map[string]any{"adapter": "claude",
		"eventId": e.id, "type": "prompt", "content": e.content}, &out)
	if err == nil && (status != http.StatusAccepted || out.Candidate == nil) {
		err = fmt.Errorf("%s: %d: %+v", e.id, status, out)
	}
	return out, status, err
}

// nonsense returns a word of letters for a number.
func nonsense(n int) string {
	b := strings.Builder{}
	b.WriteString("qu") // no known word begins so
	for ; ; n /= 20 {
		b.WriteString(string("bcdfghjkmnpqrstvwxyz"[n%20]) + "a")
		if n < 20 {
			return b.String()
		}
	}
}

// deliverAgain sends all events of a session again. The acknowledged ones are known, with the same candidates.
func (k *eventKiller) deliverAgain(t *testing.T, d *delivery) {
	t.Helper()
	for i, e := range d.events {
		out, _, err := k.deliver(d.session, e)
		switch {
		case err != nil:
			t.Fatal(err)
		case len(out.Candidates) != 1 || out.Candidate.Content != e.content:
			t.Errorf("%q again gets %+v", e.content, out)
		case e.candidate == "":
			if k.unsure++; out.Duplicate {
				k.known++
			}
			d.events[i].candidate = out.Candidate.ID
		default:
			if k.acknowledged++; !out.Duplicate || out.Candidate.ID != e.candidate {
				t.Errorf("%s was acknowledged with the candidate %s: %+v", e.id, e.candidate, out)
			}
		}
	}
}

// verifySession compares the candidates and counts of a session with what was delivered.
func (k *eventKiller) verifySession(t *testing.T, d *delivery) {
	t.Helper()
	var want, have []loci.ID
	for _, e := range d.events {
		want = append(want, e.candidate)
	}
	for query := "?limit=100&session_id=" + string(d.session); ; {
		var page loci.Candidates
		k.must(t, "GET", "/v1/sessions/candidates"+query, nil, &page)
		for _, c := range page.Candidates {
			have = append(have, c.ID)
		}
		if page.NextCursor == "" {
			break
		}
		query = "?limit=100&session_id=" + string(d.session) + "&cursor=" + page.NextCursor
	}
	slices.Sort(want)
	slices.Sort(have)
	var out loci.SessionDetail
	k.must(t, "GET", "/v1/sessions/"+string(d.session), nil, &out)
	n := len(want)
	if counts := out.Session.Counts; !slices.Equal(want, have) ||
		counts != (loci.SessionCounts{Candidates: n, Pending: n, Events: n}) {
		t.Errorf("%d candidates of %d events, %+v", len(have), n, counts)
	}
}
