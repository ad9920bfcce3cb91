package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// CreateKey makes an API key of the actor.
func (s *Service) CreateKey(ctx context.Context, actor *identity.Actor, in loci.CreateKey) (loci.CreatedKey, error) {
	secret, n := newKey(in.Name)
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.CreatedKey, err error) {
		account, err := tx.Account()
		if err != nil {
			return out, err
		}
		k, err := account.AddKey(n)
		tx.LinkResponse(k.ID)
		return loci.CreatedKey{Key: k, APIKey: secret}, err
	})
}

func newKey(name loci.Name) (secret string, n accountdb.NewKey) {
	secret = identity.NewKey()
	if name == "" {
		name = "API key"
	}
	return secret, accountdb.NewKey{Name: string(name), Prefix: identity.KeyPreview(secret),
		Hash: identity.SecretHash(secret)}
}

// ListKeys lists the actor's API keys, newest first.
func (s *Service) ListKeys(ctx context.Context, actor *identity.Actor, in loci.ListKeys) (out loci.Keys, err error) {
	out.Keys, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.APIKey], error) { return tx.Keys(p) },
		func(k loci.APIKey) page.Key { return page.Key{At: k.CreatedAt, ID: k.ID} })
	return out, err
}

// RevokeKey revokes a key of the actor.
func (s *Service) RevokeKey(ctx context.Context, actor *identity.Actor, in loci.RevokeKey) (loci.Empty, error) {
	return inAccount(ctx, s, actor, func(a *store.Account) (loci.Empty, error) {
		return loci.Empty{}, a.RevokeKey(in.KeyID)
	})
}

// AddKey makes an API key for the user with an address, as the operator.
func (s *Service) AddKey(ctx context.Context, e loci.Email, name loci.Name) (loci.CreatedKey, error) {
	name, err := parseName(name)
	if err != nil {
		return loci.CreatedKey{}, err
	}
	secret, n := newKey(name)
	return store.System(ctx, s.Store, "make an API key as the operator",
		func(t *store.SystemTx) (out loci.CreatedKey, err error) {
			l, err := t.UserByEmail(e)
			if err != nil {
				return out, err
			}
			k, err := t.AddKey(l.User.ID, n)
			return loci.CreatedKey{Key: k, APIKey: secret}, err
		})
}
