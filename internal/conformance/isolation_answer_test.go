package conformance_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/title"
)

// normalizedAnswer calls the operation with a text. It returns the answer without the text and without the parts that
// differ from call to call.
func normalizedAnswer(h *testServer, w transport, o *op.Op, base args, field, s string) string {
	h.t.Helper()
	// the memory grows, and the password differs, with each call
	if grows(o, field) {
		base = withNewRecords(h, o, base)
	}
	if o.Name == service.MemoryAppend.Name && resourceOf(o, field) == "" || o.Name == service.AccountPassword.Name {
		base = fixtureOf(h.t, o.Name).args(testScene{h.World, h.t})
	}
	if o.Name == service.AttachmentUpload.Name {
		testScene{h.World, h.t}.deleteUploads()
	}
	c, in := h.Call(ownerOf(o)), base
	if field == keyHeader {
		c.IdempotencyKey = s
	} else {
		in = withText(o, base, field, s)
	}
	var head string
	var a answer
	if w.name == "rest" {
		res, raw := exchange(h, o, c, in)
		a, head = h.parseAnswer(raw, nil), header(res)
	} else {
		a = w.call(h, o, c, in)
	}
	// a user has at most 100 live keys
	if key, ok := a.object["key"].(args); ok && o.Name == service.KeyCreate.Name {
		testenv.Must(h.Service.RevokeKey(h.t.Context(), h.Ann.Actor(),
			loci.RevokeKey{KeyID: loci.ID(key["id"].(string))}))(h.t)
	}
	if x, ok := a.object["session"].(args); ok && o.Name == service.SessionFinalize.Name {
		if text, ok := x["snapshot"].(string); ok { // not by a tool
			x["snapshot"] = strings.ReplaceAll(text, strings.Trim(s, "\n"), "it") // of a short text, too
		}
	}
	if c, ok := a.object["candidate"].(args); ok {
		restoreText(c, "title", s)
		if alike, ok := c["similar"].([]any); ok { // as of a memory, below
			c["similar"] = slices.DeleteFunc(alike, func(v any) bool { return ownsRecord(h, v.(args)["memoryId"]) })
		}
	}
	for _, name := range []string{"atlas", "workspace"} {
		if x, ok := a.object[name].(args); ok {
			restoreText(x, "name", s)
		}
	}
	if m, ok := a.object["memory"].(args); ok {
		restoreText(m, "title", s)
		delete(m, "unchanged") // two texts may be redacted to the same one
		if content, ok := m["content"].(string); ok {
			m["content"] = strings.TrimSuffix(content, "\n"+s)
		}
		// depends on chance and grows: the caller's own records reveal nothing
		if alike, ok := m["similar"].([]any); ok {
			m["similar"] = slices.DeleteFunc(alike, func(v any) bool { return ownsRecord(h, v.(args)["id"]) })
		}
		if ownsRecord(h, m["duplicateOf"]) {
			delete(m, "duplicateOf")
		}
	}
	return head + aVersion.ReplaceAllString(normalize(h.t, withoutText(a.object, s).(args), false), `"version"`)
}

// restoreText replaces a member that is derived from the text s, or its beginning, by s. Writing tools shorten texts.
func restoreText(record args, member, s string) {
	shown, ok := record[member].(string)
	if ok && shown != "" && (strings.HasPrefix(title.Derive(s), shown) || strings.HasPrefix(s, shown)) {
		record[member] = s
	}
}

// ownsRecord reports whether the caller can read a memory.
func ownsRecord(h *testServer, id any) bool {
	s, ok := id.(string)
	if !ok {
		return false
	}
	_, err := h.Service.GetMemory(h.t.Context(), h.Ann.Actor(), loci.GetMemory{MemoryID: loci.ID(s)})
	return err == nil
}

// aVersion matches the number of changes of a record.
var aVersion = regexp.MustCompile(`"version":\d+`)

// header writes status and headers, without those that differ from call to call.
func header(res *http.Response) string {
	var lines []string
	for name, values := range res.Header {
		switch name {
		case "Date", "X-Request-Id", "Etag", "Content-Length", "Set-Cookie", "Ratelimit-Limit", "Ratelimit-Remaining",
			"Ratelimit-Reset":
			continue
		}
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(lines)
	return res.Status + "\n" + strings.Join(lines, "\n") + "\n"
}

// withoutText removes the text itself where an answer repeats it.
func withoutText(v any, s string) any {
	switch v := v.(type) {
	case args:
		out := args{}
		for name, inner := range v {
			out[name] = withoutText(inner, s)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutText(v[i], s)
		}
		return out
	case string:
		if local, _, _ := strings.Cut(s, "@"); v == s || v == local {
			return "it"
		}
		if len(s) >= 8 {
			return strings.ReplaceAll(v, s, "it")
		}
	}
	return v
}

// A stream takes the id of a message from a header too, which is no field of the operation.
func TestStreamsIgnoreForeignLastEventID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		h := newTestServer(t, conformance.New(t, d.Open, conformance.Options{}))
		s := testScene{h.World, t}
		own, toBob := s.message(), testenv.Must(s.Service.SendMessage(t.Context(), s.agent(s.Ann),
			loci.SendMessage{WorkspaceID: s.Team, ToAgentID: s.agent(s.Bob).AgentID, Content: "x"}))(t).Message.ID
		for _, c := range []struct {
			name   string
			last   loci.ID
			caller *conformance.Person
			unread int
		}{
			{"none", "", h.Ann, 1}, {"unknown", loci.NewID(time.Now()), h.Ann, 1}, {"ill-formed", "x", h.Ann, 1},
			{"of another recipient", toBob, h.Ann, 1}, {"of the sender", own, h.Bob, 1}, {"own", own, h.Ann, 0},
			{"of another tenant", own, h.Eve, 0}, {"unknown to a stranger", loci.NewID(time.Now()), h.Eve, 0},
		} {
			call := &op.Call{Credential: c.caller.Key, ActorHeader: op.ActorAgent, LastEventID: string(c.last)}
			for _, w := range transports[:2] {
				a := w.call(h, service.AgentEvents.Op, call, args{})
				if list, ok := a.object["unread"].([]any); !ok || len(list) != c.unread {
					t.Errorf("%s by %s: unread is %v, want %d messages", c.name, w.name, a.object["unread"], c.unread)
				}
			}
		}
	})
}
