package service

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// maxUserAgent is the most bytes of a browser's name for itself.
const maxUserAgent = 256

// newBrowser returns the sign-in of the browser of a call.
func newBrowser(actor *identity.Actor, secret string) accountdb.NewSignIn {
	agent := strings.ToValidUTF8(actor.UserAgent[:min(len(actor.UserAgent), maxUserAgent)], "")
	agent = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, agent)
	return accountdb.NewSignIn{Hash: identity.SecretHash(secret), UserAgent: agent, Address: actor.ClientAddress}
}

// ListSignIns lists the browsers that are signed in.
func (s *Service) ListSignIns(ctx context.Context, actor *identity.Actor,
	in loci.ListSignIns) (out loci.SignIns, err error) {
	out.SignIns, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.BrowserSignIn], error) { return tx.SignIns(p) },
		func(x loci.BrowserSignIn) page.Key { return page.Key{At: x.CreatedAt, ID: x.ID} })
	return out, err
}

// RevokeSignIn signs a browser out.
func (s *Service) RevokeSignIn(ctx context.Context, actor *identity.Actor, in loci.RevokeSignIn) (loci.Empty, error) {
	return inAccount(ctx, s, actor, func(a *store.Account) (loci.Empty, error) {
		return loci.Empty{}, a.EndSignIn(in.SignInID)
	})
}
