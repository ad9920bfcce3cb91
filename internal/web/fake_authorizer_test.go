package web_test

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
)

// A fakeAuthorizer has a few clients. A signed request is "signed:" and the id of the client.
type fakeAuthorizer struct{ *fakeService }

const (
	hostileName = "<script>alert(1)</script>\u202e\u2066\r\nX: y\" onclick=\"a"
	secureSite  = "https://app.example/back?x=1"
	loopback    = "http://127.0.0.1:4567/back"
	privateUse  = "cursor://anysphere.mcp/back"
)

var clients = map[string]httpapi.Authorization{
	"app": {ClientName: "The App", RedirectURI: secureSite, RedirectHost: "app.example"},
	"document": {ClientName: "The App", ClientHost: "docs.example", RedirectURI: loopback,
		RedirectHost: "127.0.0.1:4567"},
	"local":    {ClientName: "The App", RedirectURI: loopback, RedirectHost: "127.0.0.1:4567"},
	"private":  {ClientName: "The App", RedirectURI: privateUse, RedirectHost: "cursor:"},
	"script":   {ClientName: "The App", RedirectURI: "javascript:alert(1)", RedirectHost: "javascript:"},
	"hostile":  {ClientName: hostileName, RedirectURI: "http://a.example;script-src *,x/", RedirectHost: "<b>"},
	"comma":    {ClientName: "The App", RedirectURI: "http://a.example;script-src,b/", RedirectHost: "a.example"},
	"long":     {ClientName: strings.Repeat("é", 2000), RedirectURI: "http://[::1]:1/", RedirectHost: "[::1]:1"},
	"nameless": {ClientName: " \u202e ", RedirectURI: secureSite, RedirectHost: "app.example"},
}

var errExpired = loci.Errorf(loci.CodeInvalidQuery, "The request has expired.")

func (f *fakeAuthorizer) Authorize(_ context.Context, rawQuery, _ string) (string, httpapi.Authorization, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return "", httpapi.Authorization{}, err
	}
	id, signed := strings.CutPrefix(query.Get("request"), "signed:")
	if !signed {
		id = query.Get("client_id")
	}
	switch id {
	case "fault":
		return "", httpapi.Authorization{}, &httpapi.RedirectError{Location: secureSite + "&error=invalid_scope"}
	case "down":
		return "", httpapi.Authorization{}, loci.NewError(loci.CodeUnavailable)
	case "full":
		return "", httpapi.Authorization{}, loci.NewError(loci.CodeStorageFull)
	case "busy":
		return "", httpapi.Authorization{}, &loci.Error{Code: loci.CodeRateLimited, RetryAfter: 2 * time.Second,
			Message: "The limit of the network."}
	}
	a, known := clients[id]
	if !known {
		return "", a, loci.Errorf(loci.CodeInvalidQuery, "The client is <unknown>.")
	}
	return "signed:" + id, a, nil
}

func (f *fakeAuthorizer) Bind(request string, signIn loci.ID) (string, httpapi.Authorization, error) {
	id := strings.TrimPrefix(request, "signed:")
	return "bound:" + string(signIn) + ":" + id, clients[id], nil
}

func (f *fakeAuthorizer) Open(bound string, signIn loci.ID) (httpapi.Authorization, error) {
	id, ok := strings.CutPrefix(bound, "bound:"+string(signIn)+":")
	if !ok {
		return httpapi.Authorization{}, errExpired
	}
	return clients[id], nil
}

func (f *fakeAuthorizer) Approve(_ context.Context, bound string, signIn, user loci.ID,
	workspaces []loci.ID) (string, error) {
	a, err := f.Open(bound, signIn)
	if err != nil {
		return "", err
	}
	if len(workspaces) > 200 {
		return "", loci.Errorf(loci.CodeInvalidQuery, "Choose 1 to 200 workspaces.")
	}
	texts := []string{"approve", string(user)}
	for _, w := range workspaces {
		texts = append(texts, string(w))
	}
	f.note(texts...)
	return a.RedirectURI + "#code", nil
}

func (f *fakeAuthorizer) Deny(bound string, signIn loci.ID) (string, error) {
	a, err := f.Open(bound, signIn)
	return a.RedirectURI + "#access_denied", err
}

// ListWorkspaces returns the workspaces of ann in pages.
func (s *fakeService) ListWorkspaces(_ context.Context, _ *identity.Actor,
	in loci.ListWorkspaces) (out loci.Workspaces, err error) {
	from := len(in.Cursor)
	to := min(from+int(in.Limit), len(s.spaces))
	out.Workspaces = s.spaces[from:to]
	if to < len(s.spaces) {
		out.NextCursor = strings.Repeat("c", to)
	}
	return out, nil
}
