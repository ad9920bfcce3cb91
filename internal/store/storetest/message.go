package storetest

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
)

// Agent adds a key of a user, and returns its agent as an actor.
func Agent(t testing.TB, s *store.Store, owner *identity.Actor) *identity.Actor {
	t.Helper()
	return Agents(t, s, owner, 1)[0]
}

// Agents adds n keys of a user, and returns their agents as actors.
func Agents(t testing.TB, s *store.Store, owner *identity.Actor, n int) []*identity.Actor {
	t.Helper()
	list := testenv.Must(store.System(context.Background(), s, "test",
		func(x *store.SystemTx) ([]*identity.Actor, error) {
			var list []*identity.Actor
			for range n {
				agent := *owner
				k, err := x.AddKey(owner.UserID, accountdb.NewKey{Name: "laptop", Prefix: "prefix",
					Hash: identity.SecretHash(identity.NewSecret())})
				if err != nil {
					return nil, err
				}
				agent.CredentialID = k.ID
				if agent.AgentID, err = x.AgentOf(identity.CredentialKey, k.ID); err != nil {
					return nil, err
				}
				list = append(list, &agent)
			}
			return list, nil
		}))(t)
	return list
}
