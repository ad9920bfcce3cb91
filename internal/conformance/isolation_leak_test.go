package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/testenv"
)

// A leak is a fault by which an answer tells of ann's records. It is in the method of an operation, or between the
// handler and its clients.
type leak struct {
	name   string
	op     string
	field  string   // the only one that leaks
	only   []string // the transports that leak, if not all
	method func(ann *identity.Actor) *op.Table
	wrap   func(s *isolationScene, next http.Handler) http.Handler
}

// leaks has the faults that a server of many tenants may have, each once.
var leaks = []leak{
	{name: "a foreign id answers 403 in place of 404", op: service.MemoryGet.Name, field: "memoryId",
		method: leakyRead(service.MemoryGet, (*service.Service).GetMemory,
			func(loci.MemoryDetail) error { return loci.NewError(loci.CodeForbidden) })},
	{name: "a foreign id has another message", op: service.AtlasGet.Name, field: "atlasId",
		method: leakyRead(service.AtlasGet, (*service.Service).GetAtlas, func(loci.OneAtlas) error {
			return loci.Errorf(loci.CodeNotFound, "There is no such atlas of yours.")
		})},
	{name: "an error names a foreign workspace", op: service.AtlasCreate.Name, field: "workspaceId",
		method: func(ann *identity.Actor) *op.Table {
			return withMethod(service.AtlasCreate, func(s *service.Service, ctx context.Context, who *identity.Actor,
				in loci.CreateAtlas) (out loci.CreatedAtlas, err error) {
				w, foreign := s.GetWorkspace(ctx, ann, loci.GetWorkspace{WorkspaceID: in.WorkspaceID})
				if out, err = s.CreateAtlas(ctx, who, in); err != nil && foreign == nil {
					err = loci.Errorf(loci.CodeNotFound, "Ask the owner of %q to invite you.", w.Workspace.Name)
				}
				return out, err
			})
		}},
	{name: "names are unique among all tenants", op: service.AtlasCreate.Name, field: "name",
		method: func(ann *identity.Actor) *op.Table {
			return withMethod(service.AtlasCreate, func(s *service.Service, ctx context.Context, who *identity.Actor,
				in loci.CreateAtlas) (out loci.CreatedAtlas, err error) {
				list, err := s.ListAtlases(ctx, ann, loci.ListAtlases{Paging: loci.Paging{Limit: 100}})
				taken := slices.ContainsFunc(list.Atlases, func(a loci.Atlas) bool { return a.Name == string(in.Name) })
				if err == nil && taken {
					return out, loci.Errorf(loci.CodeConflict, "The name is taken: choose another.")
				}
				return s.CreateAtlas(ctx, who, in)
			})
		}},
	{name: "a search finds foreign texts", op: service.MemorySearch.Name, field: "query",
		method: leakySearch(func(out *loci.FoundMemories, foreign loci.FoundMemories) {
			out.Memories = append(out.Memories, foreign.Memories...)
		})},
	{name: "a count includes foreign rows", op: service.MemorySearch.Name, field: "query",
		only: []string{"host", "rest", "client"}, // tools omit it
		method: leakySearch(func(out *loci.FoundMemories, foreign loci.FoundMemories) {
			out.Meta.Candidates.Keyword += foreign.Meta.Candidates.Keyword
		})},
	{name: "a foreign id is in a list", op: service.MemoryCreate.Name, field: "content",
		method: func(ann *identity.Actor) *op.Table {
			return withMethod(service.MemoryCreate, func(s *service.Service, ctx context.Context, who *identity.Actor,
				in loci.CreateMemory) (loci.CreatedMemory, error) {
				out, err := s.CreateMemory(ctx, who, in)
				list, _ := s.ListMemories(ctx, ann, loci.ListMemories{Paging: loci.Paging{Limit: 100}})
				for _, m := range list.Memories {
					if m.Content == string(in.Content) {
						out.Memory.Similar = slices.Insert(out.Memory.Similar, 0, loci.Similarity{ID: m.ID})
					}
				}
				return out, err
			})
		}},
	{name: "a cursor of another tenant is accepted", op: service.MemoryList.Name, field: "cursor",
		method: func(ann *identity.Actor) *op.Table {
			return withMethod(service.MemoryList, func(s *service.Service, ctx context.Context, who *identity.Actor,
				in loci.ListMemories) (loci.Memories, error) {
				out, err := s.ListMemories(ctx, who, in)
				other := *ann
				other.Operation = who.Operation
				if _, foreign := s.ListMemories(ctx, &other, in); err != nil && foreign == nil {
					return loci.Memories{Memories: []loci.Memory{}}, nil
				}
				return out, err
			})
		}},
	{name: "an address is told to be registered", op: service.InvitationCreate.Name, field: "emails",
		method: func(*identity.Actor) *op.Table {
			return withMethod(service.InvitationCreate, func(s *service.Service, ctx context.Context,
				who *identity.Actor, in loci.CreateInvitations) (loci.CreatedInvitations, error) {
				out, err := s.CreateInvitations(ctx, who, in)
				known, _ := sqldb.System(ctx, s.Store.DB(), "test", func(t *sqldb.Tx) (int64, error) {
					return t.Exec(`UPDATE users SET email = email WHERE email = ?1`, in.Emails[0])
				})
				if known > 0 {
					out.Skipped = append(out.Skipped,
						loci.SkippedInvitation{Email: string(in.Emails[0]), Reason: loci.SkipAlreadyMember})
				}
				return out, err
			})
		}},
	{name: "a key of another tenant resumes its record", op: service.SessionStart.Name, field: "externalId",
		method: func(ann *identity.Actor) *op.Table {
			return withMethod(service.SessionStart, func(s *service.Service, ctx context.Context, who *identity.Actor,
				in loci.StartSession) (loci.StartedSession, error) {
				list, _ := s.ListSessions(ctx, ann, loci.ListSessions{Paging: loci.Paging{Limit: 100}})
				for _, x := range list.Sessions {
					if x.ExternalID != "" && x.ExternalID == string(in.ExternalID) {
						return loci.StartedSession{Session: x, Creation: loci.Existing}, nil
					}
				}
				return s.StartSession(ctx, who, in)
			})
		}},
	{name: "the last field of an operation tells", op: service.SessionCapture.Name, field: "sourceEventId",
		method: func(ann *identity.Actor) *op.Table {
			return withMethod(service.SessionCapture, func(s *service.Service, ctx context.Context,
				who *identity.Actor, in loci.CaptureCandidate) (out loci.CapturedCandidate, err error) {
				list, _ := s.ListCandidates(ctx, ann, loci.ListCandidates{Paging: loci.Paging{Limit: 100}})
				for _, c := range list.Candidates {
					if c.SourceEventID != "" && c.SourceEventID == string(in.SourceEventID) {
						return out, loci.Errorf(loci.CodeStateConflict, "The event has a candidate.")
					}
				}
				return s.CaptureCandidate(ctx, who, in)
			})
		}},
	{name: "a stored response of another tenant is found", op: service.MemoryCreate.Name, field: keyHeader,
		only: []string{"rest", "client"},
		wrap: func(_ *isolationScene, next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.Header.Get(keyHeader), "ann ") {
					r.Header.Set(keyHeader, "") // an invalid one
				}
				next.ServeHTTP(w, r)
			})
		}},
	{name: "a header differs", op: service.MemoryVersions.Name, field: "memoryId", only: []string{"rest"},
		wrap: wrapForeign(func(r *http.Request, _ []byte) bool {
			return strings.HasPrefix(r.UserAgent(), "Go-http-client/")
		}, func(w http.ResponseWriter, status int, body []byte) {
			w.Header().Set("Cache-Control", "private, max-age=60")
			w.WriteHeader(status)
			w.Write(body)
		})},
	{name: "tools alone tell", op: service.MemoryArchive.Name, field: "memoryId", only: []string{"tool"},
		wrap: wrapForeign(func(r *http.Request, _ []byte) bool { return r.URL.Path == "/mcp" }, answerForbidden)},
	{name: "commands alone tell", op: service.AtlasArchive.Name, field: "atlasId", only: []string{"command"},
		wrap: wrapForeign(func(r *http.Request, _ []byte) bool {
			return strings.HasPrefix(r.UserAgent(), "loci/")
		}, answerForbidden)},
}

// TestIsolationTestFindsSeededLeaks seeds a leak into one operation at a time. The sample of the ordinary run finds it
// over each transport that leaks.
func TestIsolationTestFindsSeededLeaks(t *testing.T) {
	t.Parallel()
	scene := openIsolationScene(t)
	for _, l := range leaks {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			var tried atomic.Int64
			h := scene.serve(t, l)
			o, found := h.table.Op(l.op), map[string]int{}
			for m := range scene.mismatches(h, o, []string{l.field}, &tried) {
				found[m.transport]++
			}
			for n, w := range transports {
				leaks := slices.Contains(l.only, w.name)
				if l.only == nil {
					leaks = w.supports(o, callShape{}) && (!onlyIDs(n) || resourceOf(o, l.field) != "")
				}
				testenv.Equal(t, leaks, (found[w.name] > 0), w.name, found[w.name])
			}
			t.Logf("mismatches: %v of %d", found, tried.Load())
		})
	}
}

// TestIsolationSampleMeetsEverySecret looks for texts that no field meets.
func TestIsolationSampleMeetsEverySecret(t *testing.T) {
	t.Parallel()
	scene, met := openIsolationScene(t), map[string]bool{}
	for _, o := range service.Ops.Ops {
		for _, field := range textFields(o) {
			for n := range transports {
				for _, x := range scene.sample(t, o, field, n) {
					met[x.text] = true
				}
			}
		}
	}
	for _, x := range scene.secrets {
		if !met[x.text] {
			t.Errorf("no field meets the %s %q of %v", x.form, x.text, x.kinds)
		}
	}
}

// withMethod returns the table with another method of an operation.
func withMethod[In, Out any](o op.TypedOp[In, Out],
	method func(*service.Service, context.Context, *identity.Actor, In) (Out, error)) *op.Table {
	var traits []op.Trait
	for trait := op.Read; trait <= op.ServerOnly; trait <<= 1 {
		if o.Has(trait) {
			traits = append(traits, trait)
		}
	}
	table := &op.Table{}
	for _, x := range service.Ops.Ops {
		if x.Name != o.Name {
			table.Ops = append(table.Ops, x)
			continue
		}
		op.Add(table, o.Name, o.Method+" "+o.Pattern, o.Summary, o.Access, o.Exposure, method, traits...)
	}
	return table
}

// leakyRead returns a table in which a read of a record of ann answers an error that the record determines.
func leakyRead[In, Out any](o op.TypedOp[In, Out],
	read func(*service.Service, context.Context, *identity.Actor, In) (Out, error),
	tell func(Out) error) func(*identity.Actor) *op.Table {
	return func(ann *identity.Actor) *op.Table {
		return withMethod(o, func(s *service.Service, ctx context.Context, who *identity.Actor, in In) (Out, error) {
			out, err := read(s, ctx, who, in)
			if record, foreign := read(s, ctx, ann, in); err != nil && foreign == nil {
				err = tell(record)
			}
			return out, err
		})
	}
}

// leakySearch returns a table in which a search adds what ann finds.
func leakySearch(add func(out *loci.FoundMemories, foreign loci.FoundMemories)) func(*identity.Actor) *op.Table {
	return func(ann *identity.Actor) *op.Table {
		return withMethod(service.MemorySearch, func(s *service.Service, ctx context.Context, who *identity.Actor,
			in loci.SearchMemories) (loci.FoundMemories, error) {
			out, err := s.SearchMemories(ctx, who, in)
			if err == nil {
				foreign, _ := s.SearchMemories(ctx, ann, loci.SearchMemories{Query: in.Query, Mode: loci.ModeKeyword})
				add(&out, foreign)
			}
			return out, err
		})
	}
}

// wrapForeign returns a wrapper that answers anew where the request is of a kind and names a record of ann.
func wrapForeign(of func(r *http.Request, body []byte) bool,
	answer func(w http.ResponseWriter, status int, body []byte)) func(*isolationScene, http.Handler) http.Handler {
	return func(s *isolationScene, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			foreign := slices.ContainsFunc(s.secrets, func(x secret) bool {
				return x.form == "id" && strings.Contains(fmt.Sprintf("%s %s", r.URL, body), x.text)
			})
			if !foreign || !of(r, body) {
				next.ServeHTTP(w, r)
				return
			}
			recorder := httptest.NewRecorder()
			next.ServeHTTP(recorder, r)
			for name, values := range recorder.Header() {
				w.Header()[name] = values
			}
			w.Header().Del("Content-Length")
			answer(w, recorder.Code, recorder.Body.Bytes())
		})
	}
}

// answerForbidden answers forbidden where no record was found.
func answerForbidden(w http.ResponseWriter, status int, body []byte) {
	w.WriteHeader(status)
	w.Write(bytes.ReplaceAll(body, []byte(loci.CodeNotFound), []byte(loci.CodeForbidden)))
}
