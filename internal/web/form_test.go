package web

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

type invited struct{}

func (invited) Respond(context.Context, *identity.Actor, loci.RespondInvitation) (loci.Empty, error) {
	return loci.Empty{}, nil
}

// FuzzForm reads forms of strangers: nothing panics, and each field reaches the operation once, under its name there.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"", "id=1&token=a&accept=true&confirm=true", "a=1&a=2", "id=%ff", "&&=&",
		"id=1;token=2", "invitationId=2&id=1", "next=/&idempotencyKey=k", "accept=", "%00=%00",
		strings.Repeat("a=b&", 300)} {
		f.Add(seed)
	}
	o := op.Add(&op.Table{}, "invitation.respond", "POST /v1/invitations/{invitationId}", "Answer.", op.Account,
		op.NoTool, invited.Respond).Op
	p := &Page{Params: []string{"id", "token"}, Fields: map[string]string{"id": "invitationId"}}
	f.Fuzz(func(t *testing.T, body string) {
		form, err := parseForm(body)
		if err != nil {
			if !loci.Is(err, loci.CodeInvalidQuery) {
				t.Fatal(err)
			}
			return
		}
		args := p.formArgs(o, form)
		given := map[string]int{}
		for _, param := range args.Params {
			if param.Value == "" || !utf8.ValidString(param.Name+param.Value) || param.Name == nextField ||
				param.Name == idempotencyKeyField || param.Name == "id" {
				t.Errorf("%q becomes %+v", body, param)
			}
			given[param.Name]++
		}
		for own, name := range map[string]string{"id": "invitationId", "token": "token", "accept": "accept"} {
			if sent := count(form[own]); given[name] < sent {
				t.Errorf("%q has %d times %s, and the operation gets %d", body, sent, own, given[name])
			}
		}
		if _, err := o.Canonical(args); err != nil && loci.AsError(err).Code.Status() >= 500 {
			t.Error(err)
		}
		h := &handler{Options: Options{Table: &op.Table{}}}
		if u, err := url.Parse(h.ownPath(form.Get(nextField))); err != nil || u.Host != "" || u.Path != "/" {
			t.Errorf("%q leads to %s: %v", body, u, err)
		}
	})
}

// FuzzConsentForm reads answers to clients' requests: an answer counts only with one decision, and reaches the
// workspaces that the page lists and the form names.
func FuzzConsentForm(f *testing.F) {
	for _, seed := range []string{"", "request=a&decision=allow&workspaces=1&workspaces=2",
		"decision=allow&decision=deny",
		"request=a&decision=deny", "decision=allow&workspaces=3", "decision=allow&workspaces=", "user=1&decision=allow",
		"decision=allow&workspaces=1&workspaces=1&workspaces=01", "decision=%00allow", "Decision=allow"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		form, err := parseForm(body)
		if err != nil {
			return
		}
		known := map[string]int{httpapi.RequestField: 1, decisionField: 1, nextField: 1, workspacesField: len(body)}
		valid := form.Get(decisionField) == "allow" || form.Get(decisionField) == "deny"
		for name, values := range form {
			valid = valid && len(values) <= known[name]
		}
		testenv.Equal(t, checkAnswer(form) == nil, valid, body)
		c := &consent{Workspaces: []choice{{Workspace: loci.Workspace{ID: "1"}}, {Workspace: loci.Workspace{ID: "2"}}}}
		chosen, err := c.tick(form[workspacesField])
		want := map[loci.ID]bool{}
		for _, id := range form[workspacesField] {
			want[loci.ID(id)] = true
		}
		if only := want["1"] || want["2"]; (err == nil) != (only && len(chosen) == len(want)) {
			t.Errorf("%q: %v %v", body, chosen, err)
		}
		for _, id := range chosen {
			if !want[id] || id != "1" && id != "2" {
				t.Errorf("%q chooses %q", body, id)
			}
		}
	})
}

// FuzzFormSource reads addresses of strangers: none adds more than one source to the policy of a page.
func FuzzFormSource(f *testing.F) {
	for _, seed := range []string{"", "https://a.example/x", "http://127.0.0.1:1/", "http://[::1]:1", "cursor://a;b",
		"x:y z", "http://a.example;script-src *", "http://a,b", "http://*", "https://\u00e9.example", "HTTPS://A:1",
		"http://a\r\nX: y"} {
		f.Add(seed)
	}
	origin := regexp.MustCompile(`^(https?://[a-z0-9.-]+(:[0-9]+)?|[a-z][a-z0-9+.-]*:)?$`)
	f.Fuzz(func(t *testing.T, address string) {
		if source := formSource(address); !origin.MatchString(source) {
			t.Errorf("%q becomes %q", address, source)
		}
	})
}

// count returns the number of values that are not empty.
func count(values []string) (n int) {
	for _, v := range values {
		if v != "" {
			n++
		}
	}
	return n
}
