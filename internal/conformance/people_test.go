package conformance_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/testenv"
)

// textOf runs a command of ann for people, and returns its output.
func (h *testServer) textOf(line ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), conformance.Must(os.Executable())(h.t), line...)
	home := h.t.TempDir()
	cmd.Env = []string{commandEnv + "=1", "LOCI_URL=" + h.url, "LOCI_API_KEY=" + h.Ann.Key, "HOME=" + home,
		"XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home}
	return string(conformance.Must(cmd.Output())(h.t))
}

// Commands name authors and inviters beside their ids, and people of the same name are told apart.
func TestCommandsNamePeople(t *testing.T) {
	t.Parallel()
	h := newTestServer(t, conformance.New(t, conformance.OpenSQLite, conformance.Options{}))
	ctx, atlas, evidence := t.Context(), h.Atlas(t, "Shelf"), loci.Evidence("the harbour master")
	for _, p := range []*conformance.Person{h.Ann, h.Bob, h.Cid} {
		conformance.Must(h.Service.CreateMemory(ctx, p.Actor(), loci.CreateMemory{AtlasID: atlas,
			Content: loci.Content("The harbour is open, says " + p.Name)}))(t)
	}
	conformance.Must(h.Service.UpdateAccount(ctx, h.Bob.Actor(), loci.UpdateAccount{Name: "cid"}))(t)
	id := h.Memory(t, atlas, "The harbour is closed.")
	conformance.Must(h.Service.VerifyMemory(ctx, h.Bob.Actor(), loci.VerifyMemory{MemoryID: id,
		Evidence: &evidence}))(t)
	h.Invite(t, h.Team, h.Ann, h.Eve, loci.RoleMember)
	private := conformance.Must(h.Service.CreateMemory(ctx, h.Ann.Actor(), loci.CreateMemory{Content: "alone"}))(t)
	for _, c := range []struct {
		line []string
		want []string
		not  string
	}{
		{[]string{"memory", "list", "--workspace-id", string(h.Team)},
			[]string{"AUTHOR", "  ann  ", "  cid (" + string(h.Bob.ID)[:13] + ")  ",
				"  cid (" + string(h.Cid.ID)[:13] + ")  "}, ""},
		{[]string{"memory", "search", "harbour"}, []string{"AUTHOR", "  ann  "}, ""},
		{[]string{"memory", "get", string(id)}, []string{"created-by     ann (" + string(h.Ann.ID) + ")\n",
			"verified-by    cid (" + string(h.Bob.ID) + ")\n"}, ""},
		{[]string{"memory", "versions", string(id)}, []string{"AUTHOR", "  cid  ", "  ann  "}, ""},
		{[]string{"invitation", "list", string(h.Team)}, []string{"INVITER", "  ann  "}, ""},
		{[]string{"memory", "list", "--workspace-id", string(private.Memory.WorkspaceID)}, []string{"alone"}, "AUTHOR"},
	} {
		text := h.textOf(c.line...)
		for _, want := range c.want {
			testenv.Contains(t, text, want, c.line)
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%v prints %s:\n%s", c.line, c.not, text)
		}
	}
	conformance.Must(h.Service.DeleteUser(ctx, loci.Email(h.Bob.Email), false))(t)
	if text := h.textOf("memory", "list", "--workspace-id", string(h.Team)); !strings.Contains(text,
		"  "+string(h.Bob.ID)[:13]+"  ") {
		t.Errorf("the author who left has no id:\n%s", text)
	}
}
