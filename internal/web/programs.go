package web

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A program is a client with a grant, as the start page shows it.
type program struct {
	ID               loci.ID // of the grant
	Name, Host       string
	Workspaces, Used string
}

// maxPrograms is the most grants of a user, and the most items of a page of the list.
const maxPrograms = "100"

// readStart reads what the start page shows. The page of a new key is shown without its lists too.
func readStart(v *Visit) error {
	if v.User.ID != "" && v.h.Table.Op("grant.list") != nil {
		v.readPrograms()
	}
	if v.User.EmailVerified && v.h.Table.Op("invitation.pending") != nil {
		v.readPending()
	}
	return readHome(v)
}

func (v *Visit) readPrograms() {
	out, err := v.run("grant.list", v.call, op.Args{Params: []op.Param{{Name: "limit", Value: maxPrograms}}})
	if v.NoPrograms = err != nil; v.NoPrograms {
		return
	}
	for _, g := range out.(loci.Grants).Grants {
		v.Programs = append(v.Programs, program{ID: g.ID, Name: plainName(g.Client.Name), Host: g.RedirectHost,
			Workspaces: reachOf(g), Used: lastUse(g.LastUsedAt)})
	}
}

// maxWorkspaceNames is how many workspaces of a program the page names.
const maxWorkspaceNames = 5

// reachOf describes what a program reaches.
func reachOf(g loci.Grant) string {
	if slices.Contains(strings.Fields(g.Scope), "account") {
		return "Everything that you may do"
	}
	return workspaceNames(g.Workspaces)
}

func workspaceNames(workspaces []loci.GrantWorkspace) string {
	var names []string
	for i, w := range workspaces {
		if i == maxWorkspaceNames {
			names = append(names, "and "+strconv.Itoa(len(workspaces)-i)+" more")
			break
		}
		names = append(names, plainName(w.Name))
	}
	return strings.Join(names, ", ")
}

func lastUse(at loci.Time) string {
	if at == 0 {
		return "not used yet"
	}
	return "last used on " + at.Std().Format(time.DateOnly)
}

// showEnded says that the access of a program has ended.
func showEnded(v *Visit, _ any) error {
	v.Ended = true
	return nil
}
