package conformance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// A localDevice is a home folder in which commands run on their own database.
type localDevice struct {
	t    *testing.T
	home string
}

// run runs a command that must succeed, and returns its output.
func (d localDevice) run(stdin string, line ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), testenv.Must(os.Executable())(d.t), line...)
	cmd.Env = []string{commandEnv + "=1", "HOME=" + d.home, "XDG_CONFIG_HOME=" + d.home, "XDG_DATA_HOME=" + d.home}
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stderr = &strings.Builder{}
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("loci %s: %v %s %s", line, err, out, cmd.Stderr)
	}
	return string(out)
}

// create runs a create command and returns the new id.
func (d localDevice) create(kind string, line ...string) string {
	d.t.Helper()
	var out map[string]json.RawMessage
	var record struct{ ID string }
	testenv.NoError(d.t, json.Unmarshal([]byte(d.run("", append(line, "--json")...)), &out))
	if err := json.Unmarshal(out[kind], &record); err != nil || record.ID == "" {
		d.t.Fatal(err, out)
	}
	return record.ID
}

// A step is one call of a tool.
type step struct {
	name string
	args args
}

// An rpcReply is an answer of JSON-RPC.
type rpcReply struct {
	ID     int
	Result struct {
		Instructions string
		Tools        []struct{ Name string }
		Content      []struct{ Text string }
	}
	Error struct{ Code int }
}

// ask sends requests in one connection with loci mcp, and returns the answers: that to initialize first.
func (d localDevice) ask(flags []string, requests ...args) []rpcReply {
	d.t.Helper()
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for i, request := range requests {
		request["jsonrpc"], request["id"] = "2.0", i+1
		in += string(testenv.Must(json.Marshal(request))(d.t)) + "\n"
	}
	lines := strings.Split(strings.TrimSpace(d.run(in, append([]string{"mcp", "--local"}, flags...)...)), "\n")
	replies := make([]rpcReply, len(requests)+1)
	for _, line := range lines {
		var r rpcReply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			d.t.Fatal(err, line)
		}
		replies[r.ID] = r
	}
	return replies
}

// agent calls tools in one connection with loci mcp and returns their objects.
func (d localDevice) agent(flags []string, calls ...step) (answers []args) {
	d.t.Helper()
	requests := make([]args, len(calls))
	for i, call := range calls {
		requests[i] = args{"method": "tools/call", "params": args{"name": call.name, "arguments": call.args}}
	}
	answers = make([]args, len(calls))
	for i, r := range d.ask(flags, requests...)[1:] {
		if len(r.Result.Content) == 1 {
			if err := json.Unmarshal([]byte(r.Result.Content[0].Text), &answers[i]); err != nil {
				d.t.Fatal(err, r)
			}
		}
	}
	return answers
}

func TestScopedAgentHasNoToolsOutsideScope(t *testing.T) {
	t.Parallel()
	d := localDevice{t, t.TempDir()}
	team := d.create("workspace", "workspace", "create", "--name", "Team")
	d.create("atlas", "atlas", "create", "--name", "Website", "--workspace-id", team)
	list := args{"method": "tools/list"}
	create := args{"method": "tools/call", "params": args{"name": "workspace_create",
		"arguments": args{"name": "Beyond"}}}
	for _, c := range []struct {
		flags []string
		place string
		has   string
		wide  bool // all tools of atlases
	}{
		{nil, "", "workspace_create", true},
		{[]string{"--workspace", "Team"}, `You work in the workspace "Team" alone.`, "atlas_create", true},
		{[]string{"--atlas", "Website"}, `You work in the atlas "Website" of the workspace "Team" alone.`, "atlas_get",
			false},
	} {
		got := d.ask(append(c.flags, "--toolset", "full"), list, create)
		var tools []string
		for _, tool := range got[1].Result.Tools {
			tools = append(tools, tool.Name)
		}
		if !slices.Contains(tools, "memory_create") || !slices.Contains(tools, c.has) {
			t.Errorf("%v: %q", c.flags, tools)
		}
		if instructions := got[0].Result.Instructions; !strings.HasSuffix(instructions, c.place) ||
			(c.place == "") == strings.Contains(instructions, "You work in") {
			t.Errorf("%v: %s", c.flags, instructions)
		}
		if c.place == "" {
			testenv.Equal(t, len(got[2].Result.Content), 1, "not narrowed", got[2])
			continue
		}
		for _, tool := range tools {
			resource, _, _ := strings.Cut(tool, "_")
			inScope := resource == "memory" || tool == "atlas_get" || tool == "workspace_get"
			if !inScope && !(c.wide && resource == "atlas") {
				t.Errorf("%v: %s reaches beyond", c.flags, tool)
			}
		}
		testenv.Equal(t, got[2].Error.Code, -32602, c.flags, got[2])
	}
}

func TestAgentIsKeptWithinAtlasOrWorkspace(t *testing.T) {
	t.Parallel()
	d := localDevice{t, t.TempDir()}
	team := d.create("workspace", "workspace", "create", "--name", "Team")
	site := d.create("atlas", "atlas", "create", "--name", "Website", "--workspace-id", team)
	shop := d.create("atlas", "atlas", "create", "--name", "Shop", "--workspace-id", team)
	outside := d.create("memory", "memory", "create", "--content", "Elsewhere the stone is basalt.")
	sold := d.create("memory", "memory", "create", "--content", "In the shop the stone is basalt.", "--atlas-id", shop)
	inside := d.create("memory", "memory", "create", "--content", "On the site the stone is basalt.", "--atlas-id",
		site)

	forbidden := func(answer args) bool {
		return answer["code"] == "forbidden" && strings.Contains(answer["message"].(string), "narrowed")
	}
	ids := func(answer args) (list []string) {
		for _, m := range answer["memories"].([]any) {
			list = append(list, m.(args)["id"].(string))
		}
		return list
	}
	for _, flags := range [][]string{{"--atlas", "Website"}, {"--atlas", site},
		{"--workspace", "Team", "--atlas", "Website"}} {
		got := d.agent(flags,
			step{"memory_list", args{}}, step{"memory_search", args{"query": "basalt", "atlas_id": site}},
			step{"memory_get", args{"memoryId": inside}},
			step{"memory_get", args{"memoryId": sold}}, step{"memory_list", args{"atlas_id": shop}},
			step{"memory_create", args{"content": "x", "atlasId": shop}},
			step{"memory_supersede", args{"memoryId": inside, "replacementMemoryId": outside}},
			step{"memory_get", args{"memoryId": "no-id"}},
			step{"memory_list", args{"limit": "many"}})
		for i := range 2 {
			if list := ids(got[i]); len(list) != 1 || list[0] != inside {
				t.Errorf("%v: found %v, want %s alone", flags, list, inside)
			}
		}
		if got[2]["id"] != inside || !forbidden(got[3]) || !forbidden(got[4]) || !forbidden(got[5]) ||
			!forbidden(got[6]) || got[7]["code"] != "not_found" || got[8]["code"] != "invalid_query" {
			t.Errorf("%v: %v", flags, got)
		}
	}
	testenv.Len(t, ids(d.agent([]string{"--workspace", "Team"}, step{"memory_list", args{}})[0]), 2, "found")
	got := d.agent([]string{"--workspace", "Team"}, // calls run concurrently
		step{"memory_create", args{"content": "Into the team."}},
		step{"memory_create", args{"content": "Into the shop.", "atlasId": shop}},
		step{"memory_get", args{"memoryId": outside}}, step{"memory_archive", args{"memoryId": outside}},
		step{"memory_context", args{"workspace_id": "01a20489-bb9f-728a-887c-2ed41f3c95f8"}})
	inTeam := d.run("", "memory", "get", got[0]["memory"].(args)["id"].(string), "--json")
	if !strings.Contains(inTeam, team) || got[1]["memory"].(args)["atlas"].(args)["id"] != shop ||
		!forbidden(got[2]) || !forbidden(got[3]) || !forbidden(got[4]) {
		t.Errorf("%v", got)
	}
	// The other atlas and the records outside are unchanged.
	for _, id := range []string{outside, sold, inside} {
		testenv.Contains(t, d.run("", "memory", "get", id), "active")
	}
}
