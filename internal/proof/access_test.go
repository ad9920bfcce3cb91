package proof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A claim is what a caller needs beside a credential.
type claim string

// The claims. The first two touch nothing of anybody else's.
const (
	anybody claim = "-"      // to ask
	oneself claim = "self"   // to be somebody: it is about the caller alone
	owned   claim = "own"    // that the record is the caller's own: a key, an invitation to one's address
	member  claim = "member" // a role in the workspace of what is named
	admin   claim = "admin"
	owner   claim = "owner"
	maker   claim = "maker" // to have made the memory, or to be an admin of its workspace: ann has made all
)

// claims is the second table: what each operation needs, written down by
// hand. What a call must be answered is computed from it and the access word.
var claims = map[string]claim{
	"memory.create": member, "memory.get": member, "memory.list": member, "memory.search": member,
	"memory.context": member, "memory.versions": member, "memory.similar": member,
	"memory.update": maker, "memory.append": maker, "memory.verify": maker, "memory.supersede": maker,
	"memory.archive": maker, "memory.restore": maker, "memory.delete": maker, "memory.revert": maker,
	"atlas.list": member, "atlas.get": member, "atlas.create": admin, "atlas.update": admin,
	"workspace.list": oneself, "workspace.get": member, "workspace.create": oneself, "member.list": member,
	"invitation.list": admin, "invitation.create": admin, "invitation.pending": oneself, "invitation.respond": owned,
	"account.status": oneself, "account.me": oneself,
	"key.list": oneself, "key.create": oneself, "key.revoke": owned,
	"auth.register": anybody, "auth.setup": anybody, "auth.login": anybody, "auth.logout": oneself,
}

// roles are those that the callers have in the crew.
var roles = map[proof.Caller]loci.Role{
	proof.Member: loci.Member, proof.Admin: loci.Admin,
	proof.Owner: loci.Owner, proof.Agent: loci.Owner, proof.Token: loci.Owner, proof.Device: loci.Owner,
}

// expected returns the code with which the caller is refused, or "".
func expected(o *op.Op, who proof.Caller) loci.Code {
	switch {
	case o.Access == op.Public:
		return ""
	case who == proof.Nobody:
		return loci.MissingAPIKey
	case who == proof.Revoked:
		return loci.Revoked
	case o.Access == op.Person && (who == proof.Token || who == proof.Elsewhere):
		return loci.InsufficientScope
	case o.Access == op.Agent && who != proof.Agent:
		return loci.Forbidden
	}
	role := roles[who]
	switch c := claims[o.Name]; c {
	case anybody, oneself:
		return ""
	case owned:
		if role != loci.Owner && who != proof.Elsewhere { // all of these are ann
			return loci.NotFound
		}
	default:
		if role == "" {
			return loci.NotFound
		}
		if c == maker {
			c = admin
		}
		if !role.AtLeast(loci.Role(c)) {
			return loci.Forbidden
		}
	}
	return ""
}

// try calls an operation as somebody, on records of ann's, and returns the
// code of the refusal.
func try(t *testing.T, w *proof.World, o *op.Op, who proof.Caller) loci.Code {
	t.Helper()
	f := fixtureOf(t, o.Name)
	if f.empty {
		w = proof.Empty(t, proof.SQLite, proof.Options{}) // who is there does not depend on the engine
	}
	in := proof.Must(json.Marshal(f.args(scene{w, t})))(t)
	_, err := w.Host.Call(t.Context(), o, w.Call(who), op.Args{JSON: in})
	if err == nil {
		return ""
	}
	return loci.AsError(err).Code
}

func TestAccessIsAsTheGoldenPageSays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		golden(t, "../../docs/access.md", matrix(t, proof.New(t, d.Open, proof.Options{})))
	})
}

// matrix calls every operation as everybody, and prints the page.
func matrix(t *testing.T, w *proof.World) []byte {
	t.Helper()
	var page bytes.Buffer
	page.WriteString(accessHead)
	resource := ""
	for _, o := range service.Ops.Ops {
		if claims[o.Name] == "" {
			t.Errorf("%s: claims does not say what it needs", o.Name)
		}
		if r, _, _ := strings.Cut(o.Name, "."); r != resource {
			resource = r
			fmt.Fprintf(&page, "\n## %s\n\n%s", r, accessColumns)
		}
		fmt.Fprintf(&page, "| `%s` | `%s %s` | %s | %s |", o.Name, o.Method, o.Path, o.Access, claims[o.Name])
		for _, who := range proof.Callers {
			want := expected(o, who)
			if got := try(t, w, o, who); got != want {
				t.Errorf("%s by %s: %s, want %s", o.Name, who, allowed(got), allowed(want))
			}
			fmt.Fprintf(&page, " %s |", allowed(want))
		}
		page.WriteByte('\n')
	}
	return page.Bytes()
}

// allowed says for people what a code says.
func allowed(c loci.Code) string {
	if c == "" {
		return "yes"
	}
	return string(c)
}

const accessHead = "# Who may do what\n\n" +
	"This page is printed by a test that calls every operation as each of these callers, and compares with what access word and need\n" +
	"say. Every call names records of a team workspace (or the key, or the invitation) of its owner.\n\n" +
	"| caller | who that is |\n|---|---|\n" +
	"| nobody | shows no credential |\n" +
	"| revoked | shows an API key that was revoked |\n" +
	"| stranger | has an account, and nothing to do with the workspace |\n" +
	"| elsewhere | an access token of the owner's that was granted another workspace |\n" +
	"| member, admin, owner | has that role in the workspace |\n" +
	"| agent | the owner's API key with `X-Loci-Actor: agent` |\n" +
	"| token | an access token of the owner's that was granted this one workspace |\n" +
	"| device | the owner of a local database, where the file is the proof |\n\n" +
	"**Access** says which credential a call needs: `public` none, `account` any, `person` an API key or a signed-in browser (a token must\n" +
	"not widen its own reach), `agent` an API key with the actor header. **Needs** says what else: `-` nothing; `self`, for it is about the\n" +
	"caller alone; `own`, that the record is the caller's own; or the least role in the workspace of what is named.\n\n" +
	"A cell is *yes*, or the [code](errors.md) of the refusal. What is out of reach is not found, whether it exists or not; what is in\n" +
	"reach and above one's role is forbidden. Lists and searches that name no place are open to every account, and show what is within\n" +
	"the caller's reach.\n"

var accessColumns = func() string {
	head, rule := "| operation | route | access | needs |", "|---|---|---|---|"
	for _, who := range proof.Callers {
		head, rule = head+" "+string(who)+" |", rule+"---|"
	}
	return head + "\n" + rule + "\n"
}()
