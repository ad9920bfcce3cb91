package store_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// Two servers verify invitees, store their memories and activate the benefits of the referrer, all at once.
func TestServersActivateReferralsAndBenefitsOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		const invitees = 6
		o := store.Options{Plans: identity.Plans{Default: loci.PlanFree}}
		servers := []*store.Store{d.Open(t, o), d.Open(t, o)}
		ann := user(t, servers[0], "ann")
		var all sync.WaitGroup
		codes := make([]loci.ReferralCode, 4)
		for i := range codes {
			all.Go(func() {
				codes[i] = system(t, servers[i%2], func(x *store.SystemTx) (loci.ReferralCode, error) {
					return x.MakeReferralCode(ann.UserID)
				})
			})
		}
		all.Wait()
		var actors []*identity.Actor
		for i := range invitees {
			if codes[0] == "" || codes[i%len(codes)] != codes[0] {
				t.Fatalf("the codes of a user are %q", codes)
			}
			u := system(t, servers[0], func(x *store.SystemTx) (loci.User, error) {
				return x.AddUser(accountdb.NewUser{Email: loci.Email(fmt.Sprintf("friend%d@example.com", i)),
					Ref: codes[0]})
			})
			actors = append(actors, &identity.Actor{UserID: u.ID, OpenReferral: true})
		}
		text := strings.Repeat("x", loci.MinQualifyingLength)
		write := func(s *store.Store, actor *identity.Actor) {
			if _, err := tryAdd(s, actor, "", text); err != nil {
				t.Error(err)
			}
		}
		for _, actor := range actors {
			for _, s := range servers {
				all.Go(func() {
					system(t, s, func(x *store.SystemTx) (loci.Empty, error) {
						return loci.Empty{}, x.MarkVerified(actor.UserID)
					})
					write(s, actor)
				})
				for range 3 {
					all.Go(func() { write(s, actor) })
				}
			}
		}
		all.Wait()
		for _, actor := range actors {
			if n := len(benefits(t, servers[1], actor)); n != 1 {
				t.Errorf("an invitee has %d benefits", n)
			}
		}
		held := benefits(t, servers[1], ann)
		if len(held) != invitees {
			t.Fatalf("the referrer has %d benefits of %d invitees", len(held), invitees)
		}
		began := loci.TimeOf(time.Now())
		var activated atomic.Int64
		for _, b := range held {
			for _, s := range servers {
				all.Go(func() {
					_, err := store.Write(t.Context(), s, ann, func(x *store.Tx) (loci.Benefit, error) {
						h, err := x.Benefit(b.ID)
						if err != nil {
							return loci.Benefit{}, err
						}
						return h.Activate()
					})
					if err == nil {
						activated.Add(1)
					} else if !loci.Is(err, loci.CodeStateConflict) {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		last := loci.Time(0)
		for _, b := range benefits(t, servers[0], ann) {
			last = max(last, b.ExpiresAt)
		}
		all30 := loci.Time((invitees * loci.BenefitDays * 24 * time.Hour).Microseconds())
		if n := activated.Load(); n != invitees || last < began+all30 ||
			last > loci.TimeOf(time.Now())+all30 {
			t.Errorf("%d of %d benefits are activated, until %s", n, invitees, last)
		}
	})
}

// system runs f in a transaction of the service.
func system[Out any](t *testing.T, s *store.Store, f func(*store.SystemTx) (Out, error)) Out {
	t.Helper()
	out, err := store.System(t.Context(), s, "test", f)
	if err != nil {
		t.Error(err)
	}
	return out
}

func benefits(t *testing.T, s *store.Store, actor *identity.Actor) []loci.Benefit {
	t.Helper()
	list, err := store.Read(t.Context(), s, actor, func(x *store.Tx) (page.List[loci.Benefit], error) {
		return x.Benefits(page.Request{Limit: 100})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}
