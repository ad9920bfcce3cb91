package main

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// grantedWorkspaces is the number of workspaces of the measured token.
const grantedWorkspaces = 3

// token compares reads with the access token of an OAuth client with those with a key.
func (b *bench) token() error {
	from, err := b.membersFixture()
	if err != nil {
		return err
	}
	at, err := b.copyFixture(from, "token")
	if err != nil {
		return err
	}
	token, err := b.makeToken(at.Dir)
	if err != nil {
		return err
	}
	p, err := b.serve(b.drivers[0], at, true)
	if err != nil {
		return err
	}
	var sides []benchSide
	for name, credential := range map[string]string{"key": at.Key, "token": token} {
		if _, err := p.send(newRequest("GET", "/v1/memories/"+at.IDs[0], credential, nil)); err != nil {
			return err
		}
		sides = append(sides, benchSide{name, func(int) (figures, error) {
			return p.cpuPerRequest(connections, requestsPerTurn, func(i int) request {
				return newRequest("GET", "/v1/memories/"+at.IDs[i%memoriesEach], credential, nil)
			})
		}})
	}
	s, err := b.interleave("token", turnsPerRound, sides...)
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "token", What: "memory.get with a token of three workspaces, over a key",
			Unit: "us CPU", Threshold: 1.5}, "token cpu", "key cpu"))
	}
	return err
}

// makeToken returns an access token of ann, for the personal workspace and others, in a database that no process has
// open.
func (b *bench) makeToken(dir string) (string, error) {
	s, err := store.OpenSQLite(b.ctx, dir, store.Options{})
	if err != nil {
		return "", err
	}
	token, err := store.System(b.ctx, s, "make a token", func(t *store.SystemTx) (string, error) {
		ann, err := t.UserByEmail("ann@example.org")
		if err != nil {
			return "", err
		}
		_, workspaces, err := t.UsageOf(ann.User.ID)
		if err != nil {
			return "", err
		}
		return grant(t, ann.User.ID, workspaces[:grantedWorkspaces])
	})
	return token, errors.Join(err, s.Close())
}

// grant makes a grant of a user in a new sign-in, and returns its access token.
func grant(t *store.SystemTx, userID loci.ID, workspaces []loci.Workspace) (string, error) {
	browser := identity.SecretHash(identity.NewSecret())
	if err := t.AddSignIn(userID, accountdb.NewSignIn{Hash: browser}); err != nil {
		return "", err
	}
	signIn, err := t.Credential(identity.CredentialCookie, browser)
	if err != nil {
		return "", err
	}
	r := grantdb.Redemption{ClientID: "bench", RedirectURI: "http://127.0.0.1/callback", Verifier: identity.NewSecret()}
	sum := sha256.Sum256([]byte(r.Verifier))
	c := grantdb.Consent{ClientID: r.ClientID, RedirectURI: r.RedirectURI, UserID: userID, SignInID: signIn.ID,
		Challenge: base64.RawURLEncoding.EncodeToString(sum[:])}
	for _, w := range workspaces {
		c.Workspaces = append(c.Workspaces, w.ID)
	}
	if r.Code, err = t.Grants().AddCode(c); err != nil {
		return "", err
	}
	tokens, ok, err := t.Grants().Redeem(r)
	if err == nil && !ok {
		err = errors.New("the code of the token was refused")
	}
	return tokens.Access, err
}
