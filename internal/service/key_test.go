package service_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestKeyIsShownOnceAndStoredAsHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := New(t, func(t testing.TB, o store.Options) *store.Store {
		s := testenv.Must(store.OpenSQLite(t.Context(), dir, o))(t)
		t.Cleanup(func() { s.Close() })
		return s
	}, Options{})
	c := w.Call(CallerOwner)
	c.IdempotencyKey = "once" // a stored response must not show it either
	made, err := op.Do(t.Context(), w.Host, c, service.KeyCreate, loci.CreateKey{Name: "laptop"})
	if err != nil || !identity.ValidKey(made.APIKey) || made.Key.Prefix != made.APIKey[len(loci.KeyPrefix):][:6] ||
		made.Key.Name != "laptop" {
		t.Fatalf("%+v %v", made, err)
	}
	list := MustCall(t, w, CallerOwner, service.KeyList, loci.ListKeys{})
	testenv.Equal(t, list.Keys[0], made.Key, "listed", "made")
	if b, _ := json.Marshal(list); bytes.Contains(b, []byte(made.APIKey)) {
		t.Error("a list shows the key")
	}
	signed := testenv.Must(w.Service.Register(t.Context(), &identity.Actor{},
		loci.Register{Email: "ada@example.com", Password: password}))(t)
	for _, s := range []string{made.APIKey, made.APIKey[len(loci.KeyPrefix):], signed.Cookie().Secret, password} {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds a secret", filepath.Base(f))
			}
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) == 0 || !holds(files, w.Ann.Email) {
		t.Error("this test reads no database")
	}
}

func holds(files []string, s string) bool {
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(s)) {
			return true
		}
	}
	return false
}

// TestEndedCredentialMakesNoKey ends a credential after its call was admitted.
func TestEndedCredentialMakesNoKey(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		made := MustCall(t, w, CallerOwner, service.KeyCreate, loci.CreateKey{})
		signed := testenv.Must(w.Service.Register(t.Context(), &identity.Actor{},
			loci.Register{Email: "ada@example.com", Password: password}))(t)
		for _, c := range []*op.Call{{Credential: made.APIKey},
			{Credential: signed.Cookie().Secret, CredentialKind: identity.CredentialCookie}} {
			actor := testenv.Must(w.Gate.Admit(t.Context(), service.KeyCreate.Op, c))(t)
			testenv.Must(w.Service.CreateKey(t.Context(), actor, loci.CreateKey{}))(t)
			if c.CredentialKind == identity.CredentialCookie {
				testenv.Must(w.Service.SignOut(t.Context(), actor, loci.Empty{}))(t)
			} else {
				testenv.Must(w.Service.RevokeKey(t.Context(), actor, loci.RevokeKey{KeyID: made.Key.ID}))(t)
			}
			Expect(t, string(actor.CredentialKind),
				testenv.ErrorOf(w.Service.CreateKey(t.Context(), actor, loci.CreateKey{})), loci.CodeRevoked)
		}
	})
}

func TestRevokedKeyIsListedAndRejected(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		made := MustCall(t, w, CallerOwner, service.KeyCreate, loci.CreateKey{})
		me := func() error {
			_, err := op.Do(t.Context(), w.Host, &op.Call{Credential: made.APIKey}, service.AccountMe, loci.Empty{})
			return err
		}
		if err := me(); err != nil || made.Key.Name == "" {
			t.Fatal(made, err)
		}
		MustFail(t, w, CallerStranger, service.KeyRevoke, loci.RevokeKey{KeyID: made.Key.ID}, loci.CodeNotFound)
		MustCall(t, w, CallerOwner, service.KeyRevoke, loci.RevokeKey{KeyID: made.Key.ID})
		Expect(t, "at once after it was revoked", me(), loci.CodeRevoked)
		first := MustCall(t, w, CallerOwner, service.KeyList, loci.ListKeys{}).Keys[0]
		MustCall(t, w, CallerOwner, service.KeyRevoke, loci.RevokeKey{KeyID: made.Key.ID})
		again := MustCall(t, w, CallerOwner, service.KeyList, loci.ListKeys{}).Keys[0]
		if first.ID != made.Key.ID || first.RevokedAt == 0 || again.RevokedAt != first.RevokedAt {
			t.Errorf("%+v, then %+v", first, again)
		}
		testenv.Len(t, MustCall(t, w, CallerStranger, service.KeyList, loci.ListKeys{}).Keys, 1, "eve sees", "keys")
	})
}

func TestOperatorInputIsValidated(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	long := strings.Repeat("x", 201)
	for name, f := range map[string]func() error{
		"address": func() error { _, err := w.Service.AddUser(t.Context(), "no address", "", ""); return err },
		"password": func() error {
			_, err := w.Service.AddUser(t.Context(), "ada@example.com", "", "short")
			return err
		},
		"name": func() error {
			_, err := w.Service.AddUser(t.Context(), "ada@example.com", loci.Name(long), "")
			return err
		},
		"key name": func() error {
			_, err := w.Service.AddKey(t.Context(), loci.Email(w.Ann.Email), loci.Name(long))
			return err
		},
		"credential": func() error {
			_, err := w.Service.AddUser(t.Context(), "ada@example.com", token, "")
			return err
		},
		"key credential": func() error {
			_, err := w.Service.AddKey(t.Context(), loci.Email(w.Ann.Email), token)
			return err
		},
	} {
		want := loci.CodeInvalidQuery
		if strings.HasSuffix(name, "credential") {
			want = loci.CodeSecretDetected
		}
		Expect(t, name, f(), want)
	}
	Expect(t, "AddKey", testenv.ErrorOf(w.Service.AddKey(t.Context(), "nobody@example.com", "")), loci.CodeNotFound)
}

func TestLiveKeysOfUserAreBounded(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		var made loci.CreatedKey
		for range accountdb.MaxKeys - 1 { // the owner calls with a key that the operator made
			made = MustCall(t, w, CallerOwner, service.KeyCreate, loci.CreateKey{})
		}
		c := w.Call(CallerOwner)
		c.IdempotencyKey = "one more"
		_, err := op.Do(t.Context(), w.Host, c, service.KeyCreate, loci.CreateKey{Name: "one more"})
		if !loci.Is(err, loci.CodeStateConflict) || !strings.Contains(err.Error(), "revoke one") {
			t.Fatal(err)
		}
		MustCall(t, w, CallerStranger, service.KeyCreate, loci.CreateKey{})
		testenv.Must(w.Service.AddKey(t.Context(), loci.Email(w.Ann.Email), "from the operator"))(t)
		for range 2 {
			MustCall(t, w, CallerOwner, service.KeyRevoke, loci.RevokeKey{KeyID: made.Key.ID})
			made.Key.ID = MustCall(t, w, CallerOwner, service.KeyList, loci.ListKeys{}).Keys[0].ID
		}
		MustCall(t, w, CallerOwner, service.KeyCreate, loci.CreateKey{})
		MustFail(t, w, CallerOwner, service.KeyCreate, loci.CreateKey{}, loci.CodeStateConflict)
	})
}
