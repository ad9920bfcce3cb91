package session_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// untilNextDay advances the clock beyond the end of the day (UTC).
func (w *extractionWorld) untilNextDay() {
	now := w.Clock.Now().UTC()
	w.Clock.Advance(now.Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute).Sub(now))
}

func TestModelWaitsForNextDayBeyondBudget(t *testing.T) {
	t.Parallel()
	eachExtractionWorld(t, 3000, func(t *testing.T, w *extractionWorld) {
		w.untilNextDay() // so that no day ends in the test
		w.llm.answers(func(n int, rw http.ResponseWriter) {
			completion(rw, fmt.Sprintf(`[{"type": "fact", "text": "Fact number %d is about thing%d."}]`, n, n), 2800)
		})
		send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
		w.settled(t, 0)
		send(t, w.World, w.session.ID, "2", loci.EventResponse, answer)
		send(t, w.World, w.session.ID, "3", loci.EventResponse, answer)
		w.settled(t, 2)
		if sent, used := w.llm.received(), w.d.Query(t, `SELECT tokens FROM model_usage`); len(sent) != 1 ||
			!slices.Equal(used, []string{"2800"}) {
			t.Errorf("%d requests, used %q", len(sent), used)
		}
		if failed := w.d.Query(t, `SELECT error FROM jobs WHERE error <> ''`); len(failed) > 0 {
			t.Errorf("waiting is a failure: %q", failed)
		}
		w.untilNextDay()
		w.settled(t, 1)
		testenv.EqualSlices(t, w.sources(t), []string{"1#6", "2#6"}, "on the next day")
		w.untilNextDay()
		w.settled(t, 0)
		testenv.EqualSlices(t, w.sources(t), []string{"1#6", "2#6", "3#6"}, "on the third day")
	})
}

func TestServersShareTokensOfDay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		const limit, one = 1000, 100
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		got := make(chan accountdb.TokenReservation)
		for n := range 20 {
			go func() {
				r, err := store.System(t.Context(), stores[n%2], "test",
					func(x *store.SystemTx) (accountdb.TokenReservation, error) {
						return x.ReserveTokens(limit, one, one)
					})
				if err != nil {
					t.Error(err)
				}
				got <- r
			}()
		}
		reserved, last := int64(0), accountdb.TokenReservation{}
		for range 20 {
			if r := <-got; r.Tokens > 0 {
				reserved += r.Tokens
				last = r
			}
		}
		testenv.Equal(t, reserved, limit, "tokens are reserved")
		testenv.Must(store.System(t.Context(), stores[0], "test", func(x *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, x.SettleTokens(last, 30)
		}))(t)
		testenv.Equal(t, d.Query(t, `SELECT tokens FROM model_usage`)[0], "930", "tokens after the first call")
	})
}

// A server is gone between the answer of the model and its commit: another server takes the job over.
func TestCandidatesAreStoredOnceWhenJobRunsTwice(t *testing.T) {
	t.Parallel()
	eachExtractionWorld(t, plenty, func(t *testing.T, w *extractionWorld) {
		release, late := make(chan struct{}), make(chan struct{})
		w.llm.answers(func(n int, rw http.ResponseWriter) {
			if n == 1 {
				<-release
				defer close(late)
			}
			completion(rw, fmt.Sprintf(`[{"type": "fact", "text": "Attempt %d tells of topic%d."}]`, n, n), 10)
		})
		send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
		waittest.Until(t, func() bool { return len(w.llm.received()) > 0 })
		other := w.d.Open(t, store.Options{Clock: w.Clock.Now})
		w.llm.attach(t, w.World, other, plenty)
		w.Clock.Advance(3 * time.Minute) // the lease ends
		w.settled(t, 0)
		close(release)
		<-late
		waittest.Until(t, func() bool { return w.Service.ExtractionTokens() > 0 })
		if err := w.Store.Close(); err != nil { // waits for the late attempt
			t.Fatal(err)
		}
		contents := w.d.Query(t, `SELECT content FROM candidates`)
		testenv.EqualSlices(t, contents, []string{"Attempt 2 tells of topic2."})
		sum := w.d.Query(t, `SELECT CAST(sum(tokens) AS TEXT) FROM model_usage`)[0] // of two days, around midnight
		testenv.Equal(t, sum, "20", "tokens of two calls")
	})
}

func TestFailedCallIsRetriedWithoutTextsInErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]func(w http.ResponseWriter){
		"status": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, answer)
		},
		"malformed": func(w http.ResponseWriter) { completion(w, "Sure! "+answer, 10) },
		"no JSON":   func(w http.ResponseWriter) { io.WriteString(w, answer) },
		"huge":      func(w http.ResponseWriter) { completion(w, strings.Repeat(answer, 10_000), 10) },
		"refusal":   func(w http.ResponseWriter) { io.WriteString(w, `{"choices": [{"message": {"content": null}}]}`) },
		"broken": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100000")
			io.WriteString(w, answer)
		},
	}
	for name, fail := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSQLiteExtractionWorld(t)
			w.llm.answers(func(n int, rw http.ResponseWriter) {
				if n == 1 {
					fail(rw)
					return
				}
				completion(rw, string(must(json.Marshal([]map[string]string{{"type": "task", "text": fact}}))), 10)
			})
			send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
			w.settled(t, 1)
			failed := w.d.Query(t, `SELECT error FROM jobs WHERE attempts = 1`)
			if len(failed) != 1 || failed[0] == "" || strings.Contains(failed[0], "linker") {
				t.Errorf("%q", failed)
			}
			testenv.Equal(t, w.Service.ExtractionFailures(), 1, "failures")
			w.Clock.Advance(time.Minute)
			w.settled(t, 0)
			testenv.EqualSlices(t, w.sources(t), []string{"1#6"})
		})
	}
}

func TestModelThatNeverAnswersWellIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newSQLiteExtractionWorld(t)
	w.llm.answers(func(_ int, rw http.ResponseWriter) { completion(rw, "I would rather not.", 10) })
	send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
	for range 2 {
		w.settled(t, 1)
		w.Clock.Advance(time.Minute)
	}
	w.settled(t, 0)
	testenv.Len(t, w.llm.received(), 3, "requests")
	testenv.Equal(t, w.d.Query(t, `SELECT tokens FROM model_usage`)[0], "30", "tokens")
}

// Failures of any kind count, so a call that failed twice for another reason has one malformed answer.
func TestMalformedAnswerEndsJobFromThirdAttemptOn(t *testing.T) {
	t.Parallel()
	w := newSQLiteExtractionWorld(t)
	w.llm.answers(func(n int, rw http.ResponseWriter) {
		if n < 3 {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		completion(rw, "I would rather not.", 10)
	})
	send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
	for range 2 {
		w.settled(t, 1)
		w.Clock.Advance(time.Minute)
	}
	w.settled(t, 0)
	testenv.Equal(t, w.Service.ExtractionFailures(), 3, "failures")
}

func TestStatementsAreKeptWhereTokensCannotBeSettled(t *testing.T) {
	t.Parallel()
	w := newSQLiteExtractionWorld(t)
	w.d.Exec(t, `CREATE TRIGGER unsettled BEFORE UPDATE ON model_usage WHEN NEW.tokens < OLD.tokens
		BEGIN SELECT RAISE(ABORT, 'unsettled'); END`)
	w.llm.says(10, fact)
	send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
	w.settled(t, 0)
	testenv.EqualSlices(t, w.sources(t), []string{"1#6"})
	testenv.Equal(t, w.Service.ExtractionFailures(), 0, "the model failed", "times")
	testenv.Len(t, w.llm.received(), 1, "requests")
}

func TestUnreachableModelUsesNoTokens(t *testing.T) {
	t.Parallel()
	w := newSQLiteExtractionWorld(t)
	w.llm.Close()
	send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
	w.settled(t, 1)
	testenv.Equal(t, w.d.Query(t, `SELECT tokens FROM model_usage`)[0], "0", "tokens")
	w.Clock.Advance(8 * 24 * time.Hour)
	w.settled(t, 0)
}

func TestModelPausesForRetryAfter(t *testing.T) {
	t.Parallel()
	w := newSQLiteExtractionWorld(t)
	w.llm.answers(func(_ int, rw http.ResponseWriter) {
		rw.Header().Set("Retry-After", "600")
		rw.WriteHeader(http.StatusTooManyRequests)
	})
	send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
	w.settled(t, 1)
	w.Clock.Advance(9 * time.Minute)
	w.settled(t, 1)
	testenv.Len(t, w.llm.received(), 1, "requests before the pause has ended")
	w.llm.says(10, fact)
	w.Clock.Advance(2 * time.Minute)
	w.settled(t, 0)
}

// The job acts in the name of the session's user: what they lost meanwhile, it has not.
func TestModelIsNotAskedForFormerMember(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, w *extractionWorld){
		"atlas is archived": func(t *testing.T, w *extractionWorld) {
			MustCall(t, w.World, byAnn, service.AtlasArchive, loci.ArchiveAtlas{AtlasID: w.atlas})
		},
		"session is deleted": func(t *testing.T, w *extractionWorld) {
			MustCall(t, w.World, byAnn, service.SessionBulk,
				loci.BulkSessions{Action: loci.BulkDelete, SessionIDs: []loci.ID{w.session.ID}})
		},
		"session has ended": func(t *testing.T, w *extractionWorld) {
			MustCall(t, w.World, byAnn, service.SessionFinalize, loci.FinalizeSession{SessionID: w.session.ID})
		},
		"user is no member": func(t *testing.T, w *extractionWorld) {
			w.d.Exec(t, fmt.Sprintf(`DELETE FROM members WHERE user_id = '%s' AND workspace =
				(SELECT row_id FROM workspaces WHERE id = '%s')`, w.Ann.ID, w.session.WorkspaceID))
		},
		"user is disabled": func(t *testing.T, w *extractionWorld) {
			w.d.Exec(t, fmt.Sprintf(`UPDATE users SET disabled = (1 = 1) WHERE id = '%s'`, w.Ann.ID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSQLiteExtractionWorld(t)
			w.llm.answers(func(_ int, rw http.ResponseWriter) { rw.WriteHeader(http.StatusServiceUnavailable) })
			send(t, w.World, w.session.ID, "1", loci.EventResponse, answer)
			w.settled(t, 1)
			end(t, w)
			w.llm.says(10, fact)
			w.Clock.Advance(time.Minute)
			w.settled(t, 0)
			testenv.Len(t, w.llm.received(), 1, "requests")
			if got := w.d.Query(t, `SELECT content FROM candidates`); len(got) > 0 {
				t.Errorf("%q", got)
			}
		})
	}
}
