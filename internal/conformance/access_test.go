package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// An accessRule is the requirement of an operation beside a credential. Fixtures state it by hand: the expected answer
// follows from it and from the access word of the operation.
type accessRule string

// The rules. The first two touch no record of another user.
const (
	publicAccess  accessRule = "-"    // nothing
	accountAccess accessRule = "self" // an account: the operation concerns only the caller
	// the record is the caller's own: a key, a grant
	ownerOfRecord accessRule = "own"
	// the caller is invited, and is no token: a workspace that its user has not joined is none of its own
	invited accessRule = "invited"
	member  accessRule = "member" // a role in the workspace of the named record
	admin   accessRule = "admin"
	owner   accessRule = "owner"
	// the caller created the memory, or is an admin of its workspace: ann created all
	creatorOrManager accessRule = "creator"
	// the session is the caller's own, and managers may not change it: all are of ann
	sessionOwner accessRule = "session"
	// the session is the caller's own, or one of a workspace that the caller manages
	sessionManager accessRule = "session, admin"
)

// roles are the roles of the callers in the team workspace.
var roles = map[conformance.Caller]loci.Role{
	conformance.CallerMember: loci.RoleMember, conformance.CallerAdmin: loci.RoleAdmin,
	conformance.CallerOwner: loci.RoleOwner, conformance.CallerAgent: loci.RoleOwner,
	conformance.CallerToken: loci.RoleOwner, conformance.CallerDevice: loci.RoleOwner,
	conformance.CallerFile: loci.RoleOwner, conformance.CallerAccount: loci.RoleOwner,
}

// expected returns the expected error code of a caller, or "".
func expected(o *op.Op, caller conformance.Caller) loci.Code {
	switch {
	case o.Access == op.Public:
		return ""
	case caller == conformance.CallerNobody:
		return loci.CodeMissingAPIKey
	case caller == conformance.CallerRevoked:
		return loci.CodeRevoked
	case caller == conformance.CallerFile && o.Access != op.File,
		o.Name == service.FileExchange.Name &&
			(caller == conformance.CallerToken || caller == conformance.CallerElsewhere):
		return loci.CodeInvalidKey
	case o.Access == op.Person && (caller == conformance.CallerToken || caller == conformance.CallerElsewhere):
		return loci.CodeInsufficientScope
	case o.Access == op.Agent && caller != conformance.CallerAgent:
		return loci.CodeForbidden
	}
	if fixtures[o.Name].server && caller == conformance.CallerDevice {
		return loci.CodeStateConflict
	}
	role := roles[caller]
	switch c := fixtures[o.Name].needs; c {
	case publicAccess, accountAccess:
		return ""
	case ownerOfRecord, invited:
		if c == invited && (caller == conformance.CallerToken || caller == conformance.CallerElsewhere) {
			return loci.CodeNotFound
		}
		if role != loci.RoleOwner && caller != conformance.CallerElsewhere { // all of these are ann
			return loci.CodeNotFound
		}
	default:
		if role == "" {
			return loci.CodeNotFound
		}
		switch c {
		case creatorOrManager:
			c = admin
		case sessionOwner, sessionManager:
			if role == loci.RoleMember {
				return loci.CodeNotFound
			}
			if c = admin; fixtures[o.Name].needs == sessionOwner {
				c = owner
			}
		}
		if !role.AtLeast(loci.Role(c)) {
			return loci.CodeForbidden
		}
	}
	return ""
}

// tryCall calls an operation on records of ann as a caller, and returns the error code.
func tryCall(t *testing.T, w *conformance.World, o *op.Op, caller conformance.Caller) loci.Code {
	t.Helper()
	f := fixtureOf(t, o.Name)
	w = f.world(t, w, conformance.OpenSQLite) // the result must not depend on the engine
	in := testenv.Must(json.Marshal(f.args(testScene{w, t})))(t)
	_, err := w.Host.Call(t.Context(), o, w.Call(caller), op.Args{JSON: in})
	if err == nil {
		return ""
	}
	return loci.AsError(err).Code
}

func TestAccessMatchesGoldenPage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		golden(t, "../../docs/access.md", accessMatrix(t, conformance.New(t, d.Open, withMail)))
	})
}

// accessMatrix calls every operation as every caller, and prints the page.
func accessMatrix(t *testing.T, w *conformance.World) []byte {
	t.Helper()
	var page bytes.Buffer
	page.Write(pageHead(t, "access.md"))
	resource := ""
	for _, o := range service.Ops.Ops {
		needs := fixtureOf(t, o.Name).needs
		if needs == "" {
			t.Errorf("%s: its fixture does not state what it needs", o.Name)
		}
		if r, _, _ := strings.Cut(o.Name, "."); r != resource {
			resource = r
			fmt.Fprintf(&page, "\n## %s\n\n%s", r, accessColumns)
		}
		fmt.Fprintf(&page, "| `%s` | `%s %s` | %s | %s |", o.Name, o.Method, o.Path, o.Access, needs)
		for _, caller := range conformance.Callers {
			want := expected(o, caller)
			if got := tryCall(t, w, o, caller); got != want {
				t.Errorf("%s by %s: %s, want %s", o.Name, caller, cell(got), cell(want))
			}
			fmt.Fprintf(&page, " %s |", cell(want))
		}
		page.WriteByte('\n')
	}
	return page.Bytes()
}

// cell returns the page's text for a code.
func cell(c loci.Code) string {
	if c == "" {
		return "yes"
	}
	return string(c)
}

var accessColumns = func() string {
	head, rule := "| operation | route | access | needs |", "|---|---|---|---|"
	for _, caller := range conformance.Callers {
		head, rule = head+" "+string(caller)+" |", rule+"---|"
	}
	return head + "\n" + rule + "\n"
}()

// rulesOfContainers are the rules of operations on what is in a workspace.
var rulesOfContainers = []accessRule{invited, member, admin, owner, creatorOrManager, sessionOwner, sessionManager}

// TestArchivedContainersRefuseChanges calls every operation that changes records of a workspace, with archived atlases
// and with archived workspaces.
func TestArchivedContainersRefuseChanges(t *testing.T) {
	t.Parallel()
	for _, archived := range archivedContainers {
		t.Run(archived, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, d storetest.Database) { refuseInArchived(t, d, archived) })
		})
	}
}

// refuseInArchived calls the operations after the containers of that table were archived.
func refuseInArchived(t *testing.T, d storetest.Database, table string) {
	w, inputs := conformance.New(t, d.Open, withMail), map[string][]byte{}
	for _, o := range service.Ops.Ops {
		f := fixtureOf(t, o.Name)
		if !o.ReadOnly && !f.alone && slices.Contains(rulesOfContainers, f.needs) {
			inputs[o.Name] = testenv.Must(json.Marshal(f.args(testScene{w, t})))(t)
		} else if f.accepts != nil {
			t.Errorf("%s changes nothing that is in a workspace: its fixture accepts no archived ones", o.Name)
		}
	}
	d.Exec(t, `UPDATE `+table+` SET archived = TRUE`)
	for name, in := range inputs {
		_, err := w.Host.Call(t.Context(), service.Ops.Op(name), w.Call(conformance.CallerAgent), op.Args{JSON: in})
		refused := !slices.Contains(fixtureOf(t, name).accepts, table)
		if !refused && err != nil || refused && !loci.Is(err, loci.CodeStateConflict) {
			t.Errorf("%s with archived %s: %v, want a refusal: %v", name, table, err, refused)
		}
	}
}
