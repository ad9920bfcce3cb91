package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/web"
)

// An automatic is what the page of the policy of automatic memory shows.
type automatic struct {
	loci.Policy
	Tag                 string // the entity tag
	Workspace           loci.Workspace
	Workspaces, Atlases []web.Choice
	Programs            []web.Choice
	Length, Paths       string
	Open                bool // the workspace accepts changes
	Others              bool // there are other workspaces
}

// programs are the adapters of the policy, in the order of the page.
var programs = []loci.Adapter{"claude", "codex", "opencode", "pi", "workbuddy", "acp"}

// readAutomatic reads the policy in a workspace, or what was typed where a form was refused.
func readAutomatic(v *web.Visit) error {
	spaces, err := web.Read[loci.Workspaces](v, "workspace.list", "limit", "100")
	if err != nil {
		return err
	}
	a := &automatic{Others: len(spaces.Workspaces) > 1}
	for _, w := range spaces.Workspaces {
		chosen := string(w.ID) == v.Values["workspace_id"] ||
			v.Values["workspace_id"] == "" && w.Kind == loci.WorkspacePersonal
		a.Workspaces = append(a.Workspaces, web.Choice{Value: string(w.ID), Label: w.Name, Chosen: chosen})
		if chosen {
			a.Workspace = w
		}
	}
	if a.Workspace.ID == "" {
		return loci.NewError(loci.CodeNotFound)
	}
	id := string(a.Workspace.ID)
	out, err := web.Read[loci.OnePolicy](v, "auto.get", "workspace_id", id)
	if err != nil {
		return err
	}
	a.Policy, a.Tag, a.Open = out.Policy, v.ETag(), a.Workspace.Status == loci.ContainerActive
	a.Length, a.Paths = strconv.Itoa(a.MinLength), strings.Join(a.ExcludePaths, "\n")
	isOn := a.Adapters.On
	if v.Form.Has("mode") {
		a.Enabled, a.Mode, a.AtlasID = v.Form.Has("enabled"), loci.PolicyMode(v.Form.Get("mode")),
			loci.ID(v.Form.Get("atlasId"))
		a.KeepTurns = v.Form.Has("keepTurns")
		a.Length, a.Paths = v.Form.Get("minLength"), strings.Join(lines(v), "\n")
		isOn = func(x loci.Adapter) bool { return v.Form.Has(string(x)) }
	}
	for _, x := range programs {
		a.Programs = append(a.Programs, web.Choice{Value: string(x), Label: adapterWords[x], Chosen: isOn(x)})
	}
	sayLine(v)
	atlases, err := web.Read[loci.Atlases](v, "atlas.list", "workspace_id", id, "limit", "100")
	for _, x := range atlases.Atlases {
		a.Atlases = append(a.Atlases, web.NewChoice(string(x.ID), x.Name, string(a.AtlasID)))
	}
	v.Data = a
	return err
}

// lines are the patterns of a form, one a line.
func lines(v *web.Visit) []string {
	list := strings.Split(v.Form.Get("excludePaths"), "\n")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// sayLine names the line of a pattern that was refused.
func sayLine(v *web.Visit) {
	var i int
	message := v.FieldErrors["excludePaths"]
	if _, rest, ok := strings.Cut(message, "] "); ok {
		if _, err := fmt.Sscanf(message, "ExcludePaths[%d]", &i); err == nil {
			v.FieldErrors["excludePaths"] = fmt.Sprintf("Line %d %s", i+1, rest)
		}
	}
}

// unchanged refuses a form whose policy was changed after its page was shown.
func unchanged(v *web.Visit) (bool, error) {
	_, err := web.Read[loci.OnePolicy](v, "auto.get", "workspace_id", v.Form.Get("workspace_id"))
	if tag := v.Form.Get("ifMatch"); err != nil || tag == "" || tag == v.ETag() {
		return false, err
	}
	if err := readAutomatic(v); err != nil {
		return false, err
	}
	return false, loci.NewError(loci.CodeVersionConflict)
}

// policyArgs puts the fields of a form into the policy that stands: it is replaced as a whole.
func policyArgs(v *web.Visit, args *op.Args) error {
	id := v.Form.Get("workspace_id")
	out, err := web.Read[loci.OnePolicy](v, "auto.get", "workspace_id", id)
	if err != nil {
		return err
	}
	args.Params = []op.Param{{Name: "workspace_id", Value: id}}
	b, err := json.Marshal(out.Policy)
	policy := map[string]any{}
	if err == nil {
		err = json.Unmarshal(b, &policy)
	}
	if err != nil {
		panic(err) // it is a struct of the API
	}
	delete(policy, "createdAt")
	delete(policy, "updatedAt")
	if v.Form.Has("paused") {
		policy["paused"] = v.Form.Get("paused") == "true"
	}
	if v.Form.Has("mode") {
		switches := map[string]bool{}
		for _, x := range programs {
			switches[string(x)] = v.Form.Has(string(x))
		}
		policy["enabled"], policy["mode"], policy["adapters"] = v.Form.Has("enabled"), v.Form.Get("mode"), switches
		policy["excludePaths"], policy["keepTurns"] = lines(v), v.Form.Has("keepTurns")
		for _, name := range []string{"atlasId", "minLength"} {
			if delete(policy, name); v.Form.Get(name) != "" {
				args.Params = append(args.Params, op.Param{Name: name, Value: v.Form.Get(name)})
			}
		}
	}
	if args.JSON, err = json.Marshal(policy); err != nil {
		panic(err) // it holds plain values
	}
	return nil
}

// policySet shows the policy again, with a notice.
func policySet(v *web.Visit, _ any) error {
	did := "saved"
	if v.Form.Has("paused") {
		did = map[bool]string{true: "paused", false: "resumed"}[v.Form.Get("paused") == "true"]
	}
	v.Leave(v.LinkTo("/app/automatic", nil, "workspace_id", v.Form.Get("workspace_id"), "did", did))
	return nil
}
