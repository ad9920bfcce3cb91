package web

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
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
	p := &page{params: []string{"id", "token"}, fields: map[string]string{"id": "invitationId"}}
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

// count returns the number of values that are not empty.
func count(values []string) (n int) {
	for _, v := range values {
		if v != "" {
			n++
		}
	}
	return n
}
