package records

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// A membersCaller lists the members of two workspaces: that of Ann alone, and one of Ann and Bob.
type membersCaller struct{ home loci.ID }

func (c membersCaller) Call(_ context.Context, _ *op.Op, _ *op.Call, a op.Args) ([]byte, error) {
	members := `{"userId":"ann","name":"Ann"}`
	if !strings.Contains(string(a.JSON), string(c.home)) {
		members += `,{"userId":"bob","name":"Bob"}`
	}
	return []byte(`{"ok":true,"members":[` + members + `]}`), nil
}

// TestPeopleHaveNamesWhereThereAreSeveral checks lists of one's own workspace, of a team, and of both.
func TestPeopleHaveNamesWhereThereAreSeveral(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	op.Add(table, "member.list", "GET /v1/workspaces/{workspaceId}/members", "List.", op.Account, op.NoTool,
		func(fakeService, context.Context, *identity.Actor, loci.ListMembers) (out loci.Members, err error) {
			return out, nil
		})
	const home, team = "01a20154-2c96-728a-887c-000000000001", "01a20154-2c96-728a-887c-000000000002"
	inHome := fmt.Sprintf(`{"workspaceId":%q,"createdBy":"ann"}`, home)
	inTeam := fmt.Sprintf(`{"workspaceId":%q,"createdBy":"bob"}`, team)
	sessions := strings.ReplaceAll(inHome+","+inTeam, "createdBy", "userId")
	const agent = `{"id":"agt_1","ownerUserId":"bob"}`
	const managed = `{"scope":"managed"}`
	for _, c := range []struct {
		input, list string
		want        map[loci.ID]string
	}{
		{"", inHome, nil},
		{"", inTeam, map[loci.ID]string{"bob": "Bob"}},
		{"", inHome + "," + inTeam, map[loci.ID]string{"ann": "Ann", "bob": "Bob"}},
		{"{}", sessions, nil},
		{managed, sessions, map[loci.ID]string{"ann": "Ann", "bob": "Bob"}},
		{managed, strings.ReplaceAll(inHome, "createdBy", "userId"), map[loci.ID]string{"ann": "Ann"}},
		{`{"workspace_id":"` + team + `"}`, agent, map[loci.ID]string{"bob": "Bob"}},
		{`{"workspace_id":"` + home + `"}`, agent, nil},
		{"", `],"session":{"userId":"ann","workspaceId":"` + team + `"},"history":[{"userId":"bob"}`,
			map[loci.ID]string{"ann": "Ann", "bob": "Bob"}},
		{`{"workspaceId":"` + team + `"}`, `],"workspace":{"archivedBy":"bob"},"other":[`, map[loci.ID]string{"bob": "Bob"}},
		{"", inHome + `],"createdBy":"ann","workspaceId":"` + home + `","other":[`, map[loci.ID]string{"ann": "Ann"}},
	} {
		r := Reader{Caller: membersCaller{home}, Table: table}
		got := r.PersonNames(t.Context(), []byte(c.input), []byte(`{"ok":true,"records":[`+c.list+`]}`))
		if !maps.Equal(got, c.want) {
			t.Errorf("%s %s: %v, want %v", c.input, c.list, got, c.want)
		}
	}
}
