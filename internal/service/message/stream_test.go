package message_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/dispatch"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/job"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// runDispatcher runs the rounds of the dispatcher, as a server does.
func runDispatcher(t *testing.T, w *World) {
	t.Helper()
	d, r := w.Service.Dispatcher(), job.New(slog.New(slog.DiscardHandler))
	d.Wake = r.Add(job.Job{Name: "messages", Every: dispatch.LookInterval, Run: d.Look})
	r.Start(context.WithoutCancel(t.Context()))
	t.Cleanup(r.Stop)
}

// agentOf returns the agent of the key of a person as an actor.
func agentOf(t *testing.T, w *World, p *Person) *identity.Actor {
	t.Helper()
	return testenv.Must(w.Host.Admit(t.Context(), service.AccountStatus.Op, &op.Call{Transport: "test",
		Credential: p.Key, ActorHeader: op.ActorAgent, Address: "192.0.2.1"}))(t)
}

func mustSend(t *testing.T, w *World, from *identity.Actor, in loci.SendMessage) loci.Message {
	t.Helper()
	return testenv.Must(w.Service.SendMessage(t.Context(), from, in))(t).Message
}

// A stream is an open stream of a test.
type stream struct {
	t    *testing.T
	next func() (loci.AgentEvent, error, bool)
	stop func()
}

func openStream(t *testing.T, w *World, actor *identity.Actor, last loci.ID, in loci.ListenAgent) *stream {
	t.Helper()
	own := *actor
	own.LastEventID = last
	ctx, cancel := context.WithCancel(t.Context())
	events := testenv.Must(w.Service.ListenAgent(ctx, &own, in))(t)
	s := &stream{t: t}
	var stop func()
	s.next, stop = iter.Pull2(events)
	s.stop = sync.OnceFunc(func() { cancel(); stop() })
	t.Cleanup(s.stop)
	return s
}

// messages returns the next n messages, of the first event too.
func (s *stream) messages(n int) (texts []string, last loci.ID) {
	s.t.Helper()
	for len(texts) < n {
		e, err, ok := s.next()
		if err != nil || !ok || e.EventName() == loci.EventAuthRevoked {
			s.t.Fatalf("the stream ends after %d of %d messages: %v %v", len(texts), n, e, err)
		}
		for _, m := range e.Messages() {
			texts, last = append(texts, m.Content), m.ID
		}
	}
	return texts, last
}

func numbered(prefix string, from, to int) (texts []string) {
	for i := from; i < to; i++ {
		texts = append(texts, fmt.Sprint(prefix, i))
	}
	return texts
}

func TestStreamBeginsWithUnreadMessagesOfAnyNumber(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		runDispatcher(t, w)
		bob, cid := agentOf(t, w, w.Bob), agentOf(t, w, w.Cid)
		for _, text := range numbered("m", 0, 230) {
			mustSend(t, w, bob, loci.SendMessage{WorkspaceID: w.Team, ToAgentID: cid.AgentID,
				Content: loci.MessageText(text)})
		}
		s := openStream(t, w, cid, "", loci.ListenAgent{WorkspaceID: w.Team})
		first, _, _ := s.next()
		if first.EventName() != loci.EventReady || len(*first.Unread) != 100 || first.EventID() != "" {
			t.Errorf("the first event is %s with %d messages", first.EventName(), len(*first.Unread))
		}
		got, last := s.messages(130)
		testenv.EqualSlices(t, got, numbered("m", 100, 230), "the others do not follow")
		mustSend(t, w, bob, loci.SendMessage{WorkspaceID: w.Team, Broadcast: true, Content: "live"})
		if got, _ := s.messages(1); got[0] != "live" {
			t.Error(got)
		}
		s.stop()
		again := openStream(t, w, cid, last, loci.ListenAgent{})
		if first, _, _ := again.next(); first.EventName() != loci.EventReady || len(*first.Unread) != 0 {
			t.Errorf("a stream that goes on begins with %+v", first)
		}
		if got, _ := again.messages(1); got[0] != "live" {
			t.Error(got)
		}
		for _, foreign := range []loci.ID{"nonsense", w.Team, mustSend(t, w, cid, loci.SendMessage{WorkspaceID: w.Team,
			ToAgentID: bob.AgentID, Content: "to bob"}).ID} {
			if first, _, _ := openStream(t, w, cid, foreign, loci.ListenAgent{}).next(); len(*first.Unread) != 100 {
				t.Errorf("an event id out of reach begins with %d messages", len(*first.Unread))
			}
		}
	})
}

func TestStreamBoundsTheBytesOfItsFirstEvent(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	runDispatcher(t, w)
	bob, cid := agentOf(t, w, w.Bob), agentOf(t, w, w.Cid)
	long := make([]byte, loci.MaxMessage)
	for i := range long {
		long[i] = "loci is a memory for agents "[i%28]
	}
	for range 40 {
		mustSend(t, w, bob, loci.SendMessage{WorkspaceID: w.Team, ToAgentID: cid.AgentID,
			Content: loci.MessageText(long)})
	}
	s := openStream(t, w, cid, "", loci.ListenAgent{})
	first, _, _ := s.next()
	n := len(*first.Unread)
	if n < 30 || n > 32 {
		t.Errorf("%d messages of 32 KiB in 1 MiB", n)
	}
	s.messages(40 - n)
}

// TestListenersHearEachMessageOnceInOrder sends from several agents at once to listeners that come and go.
func TestListenersHearEachMessageOnceInOrder(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		runDispatcher(t, w)
		senders := []*identity.Actor{agentOf(t, w, w.Ann), agentOf(t, w, w.Bob)}
		cid := agentOf(t, w, w.Cid)
		const each = 60
		var all sync.WaitGroup
		for n, from := range senders {
			all.Go(func() {
				for i := range each {
					in := loci.SendMessage{WorkspaceID: w.Team, Broadcast: true, Content: loci.MessageText(
						fmt.Sprint("sender ", n, " message ", i))}
					if i%3 == 0 {
						in.Broadcast, in.ToAgentID = false, cid.AgentID
					}
					testenv.Must(w.Service.SendMessage(t.Context(), from, in))(t)
				}
			})
		}
		heard := make([][]loci.ID, 3)
		for n := range heard {
			all.Go(func() { heard[n] = receiveAll(t, w, cid, len(senders)*each) })
		}
		all.Wait()
		var want []loci.ID
		inbox := testenv.Must(w.Service.ListInbox(t.Context(), cid, loci.ListInbox{
			Paging: loci.Paging{Limit: 100}}))(t)
		for {
			for _, m := range inbox.Messages {
				want = append(want, m.ID)
			}
			if inbox.NextCursor == "" {
				break
			}
			inbox = testenv.Must(w.Service.ListInbox(t.Context(), cid, loci.ListInbox{
				Paging: loci.Paging{Limit: 100, Cursor: loci.Cursor(inbox.NextCursor)}}))(t)
		}
		slices.Reverse(want)
		for n, got := range heard {
			if !slices.Equal(got, want) {
				t.Errorf("listener %d heard %d messages, want %d in the order of the inbox", n, len(got), len(want))
			}
		}
	})
}

// receiveAll receives n messages over streams that end after some, each continued by its last event.
func receiveAll(t *testing.T, w *World, actor *identity.Actor, n int) (got []loci.ID) {
	last := loci.ID("")
	for len(got) < n {
		own := *actor
		own.LastEventID = last
		ctx, cancel := context.WithCancel(t.Context())
		events, err := w.Service.ListenAgent(ctx, &own, loci.ListenAgent{})
		if err != nil {
			cancel()
			t.Error(err)
			return got
		}
		stay := 1 + rand.IntN(20)
		for e, err := range events {
			if err != nil {
				t.Error(err)
			}
			for _, m := range e.Messages() {
				got, last = append(got, m.ID), m.ID
				stay--
			}
			if stay <= 0 || len(got) >= n {
				break
			}
		}
		if ctx.Err() != nil {
			t.Errorf("after %d of %d messages: %v", len(got), n, ctx.Err())
			n = 0
		}
		cancel()
	}
	return got
}

func TestMembersWhoLeaveHearNothingMore(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		runDispatcher(t, w)
		ann, bob, cid := agentOf(t, w, w.Ann), agentOf(t, w, w.Bob), agentOf(t, w, w.Cid)
		s := openStream(t, w, cid, "", loci.ListenAgent{})
		_, _, _ = s.next()
		stays := openStream(t, w, bob, "", loci.ListenAgent{})
		before := mustSend(t, w, ann, loci.SendMessage{WorkspaceID: w.Team, Broadcast: true, Content: "with cid"})
		if got, _ := s.messages(1); got[0] != "with cid" {
			t.Error(got)
		}
		testenv.Must(w.Service.RemoveMember(t.Context(), w.Ann.Actor(), loci.RemoveMember{WorkspaceID: w.Team,
			UserID: w.Cid.ID, Confirm: true}))(t)
		mustSend(t, w, ann, loci.SendMessage{WorkspaceID: w.Team, Broadcast: true, Content: "without cid"})
		stays.messages(2)
		// cid's own message comes after what cid must not hear
		personal := testenv.Must(w.Service.ListWorkspaces(t.Context(), w.Cid.Actor(), loci.ListWorkspaces{}))(t)
		mustSend(t, w, cid, loci.SendMessage{WorkspaceID: personal.Workspaces[0].ID, ToAgentID: cid.AgentID,
			Content: "to myself"})
		if got, _ := s.messages(1); got[0] != "to myself" {
			t.Error(got)
		}
		s.stop()
		again, _, _ := openStream(t, w, cid, before.ID, loci.ListenAgent{}).next()
		if got := again.Messages(); len(got) != 1 || got[0].Content != "to myself" {
			t.Errorf("an event out of reach begins with the unread messages in reach, not %+v", got)
		}
		_, err := w.Service.AcknowledgeMessage(t.Context(), cid, loci.GetMessage{MessageID: before.ID})
		if !loci.Is(err, loci.CodeNotFound) {
			t.Error(err)
		}
	})
}

func TestStreamTellsOfItsRevokedGrant(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		runDispatcher(t, w)
		call := &op.Call{Transport: op.TransportREST, Credential: storetest.AccountToken(t, w.Store, w.Cid.ID).Access,
			ActorHeader: op.ActorAgent, Address: "192.0.2.1"}
		cid := testenv.Must(w.Host.Admit(t.Context(), service.AccountStatus.Op, call))(t)
		s := openStream(t, w, cid, "", loci.ListenAgent{})
		_, _, _ = s.next()
		testenv.Must(w.Service.RevokeGrant(t.Context(), w.Cid.Actor(), loci.RevokeGrant{GrantID: cid.CredentialID}))(t)
		if e, err, ok := s.next(); err != nil || !ok || e.EventName() != loci.EventAuthRevoked {
			t.Errorf("%+v %v", e, err)
		}
	})
}

func TestStreamTellsOfItsRevokedKey(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		runDispatcher(t, w)
		cid := agentOf(t, w, w.Cid)
		s := openStream(t, w, cid, "", loci.ListenAgent{})
		_, _, _ = s.next()
		testenv.Must(w.Service.RevokeKey(t.Context(), w.Cid.Actor(), loci.RevokeKey{KeyID: w.Cid.KeyID}))(t)
		if e, err, ok := s.next(); err != nil || !ok || e.EventName() != loci.EventAuthRevoked {
			t.Errorf("%+v %v", e, err)
		}
		if _, _, ok := s.next(); ok {
			t.Error("the stream goes on")
		}
	})
}
