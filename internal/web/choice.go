package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// maxWorkspacePages is how many pages of workspaces a form lists.
const maxWorkspacePages = 10

// A choice is a workspace that a person may tick.
type choice struct {
	loci.Workspace
	Ticked bool
}

// About describes a workspace beside its name.
func (c choice) About() string {
	if c.Kind == loci.WorkspacePersonal {
		return "Yours alone"
	}
	role := map[loci.Role]string{loci.RoleOwner: "the owner", loci.RoleAdmin: "an admin"}[c.Role]
	return "Team, you are " + cmp.Or(role, "a member")
}

// listWorkspaces returns the workspaces of the user, the personal one first, then by name. It reports whether the user
// has more than a form lists.
func (v *Visit) listWorkspaces() (all []choice, cut bool, err error) {
	args := op.Args{Params: []op.Param{{Name: "limit", Value: "100"}}}
	defer func() { v.call.Continuation = false }()
	for range maxWorkspacePages {
		out, err := v.run("workspace.list", v.call, args)
		if err != nil {
			return nil, false, err
		}
		page := out.(loci.Workspaces)
		for _, w := range page.Workspaces {
			all = append(all, choice{Workspace: w})
		}
		if cut = page.NextCursor != ""; !cut {
			break
		}
		args.Params = append(args.Params[:1], op.Param{Name: "cursor", Value: page.NextCursor})
		v.call.Continuation = true // the pages of one list count once
	}
	slices.SortStableFunc(all, compareChoices)
	return all, cut, nil
}

func compareChoices(a, b choice) int {
	if personal := a.Kind == loci.WorkspacePersonal; personal != (b.Kind == loci.WorkspacePersonal) {
		if personal {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
}

// choose returns what a person allows, and marks it in the form. An error is that of a field.
func (c *consent) choose(form url.Values) (r httpapi.Reach, field string, err error) {
	if c.Account {
		switch c.Reach = form.Get(reachField); c.Reach {
		case "account":
			return httpapi.Reach{Account: true}, "", nil
		case "workspaces":
		default:
			return r, reachField, loci.Errorf(loci.CodeInvalidQuery,
				"Choose what the program may use, or deny the request.")
		}
	}
	r.Workspaces, err = c.tick(form[workspacesField])
	return r, workspacesField, err
}

// tick marks the workspaces that a person chose, and returns their ids.
func (c *consent) tick(ids []string) (chosen []loci.ID, err error) {
	for i := range c.Workspaces {
		w := &c.Workspaces[i]
		if w.Ticked = slices.Contains(ids, string(w.ID)); w.Ticked {
			chosen = append(chosen, w.ID)
		}
	}
	unknown := slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(chosen, loci.ID(id)) })
	switch {
	case unknown:
		return nil, loci.Errorf(loci.CodeInvalidQuery,
			"You are no longer a member of a workspace that you chose: check the list, and choose again.")
	case chosen == nil:
		return nil, loci.Errorf(loci.CodeInvalidQuery, "Choose at least one workspace, or deny the request.")
	}
	return chosen, nil
}
