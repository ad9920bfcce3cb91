package opflags

import (
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

type finalize struct {
	Content string        `json:"content"`
	UnitID  loci.ID       `json:"unitId" id:"unit"`
	Session loci.ID       `json:"sessionId" id:"session"`
	Details loci.Metadata `json:"details,omitzero"`
}

func (finalize) run(context.Context, *identity.Actor, finalize) (loci.Empty, error) {
	return loci.Empty{}, nil
}

// TestArgumentsFollowPath binds a route with two ids: the arguments are in the order of the path, not of the fields.
func TestArgumentsFollowPath(t *testing.T) {
	t.Parallel()
	f := New(op.Add(&op.Table{}, "unit.finalize", "PUT /sessions/{sessionId}/units/{unitId}?content", "End.",
		op.Account, op.NoTool, finalize.run).Op)
	cmd := &cobra.Command{Use: "finalize"}
	f.Bind(cmd)
	if cmd.Use != "finalize <session-id> <unit-id> [text]" || !strings.Contains(cmd.Example, " --content ") {
		t.Errorf("%s: %s", cmd.Use, cmd.Example)
	}
	testenv.NoError(t, cmd.Flags().Parse([]string{"--content", "c", "--details", `{"a":{"b":[1]}}`}))
	got, err := f.InputJSON(t.Context(), []string{"s", "u"}, nil)
	if want := `{"content":"c","details":{"a":{"b":[1]}},"sessionId":"s","unitId":"u"}`; err != nil ||
		string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

type sendInput struct {
	Text   string      `json:"content"`
	To     loci.ID     `json:"toAgentId,omitzero" id:"agent"`
	All    bool        `json:"broadcast,omitzero"`
	Source loci.Source `json:"source,omitzero"`
}

func (sendInput) run(context.Context, *identity.Actor, sendInput) (loci.Empty, error) {
	return loci.Empty{}, nil
}

func TestMessagesNameFlags(t *testing.T) {
	t.Parallel()
	f := New(op.Add(&op.Table{}, "agent.send", "POST /send", "Send.", op.Account, op.NoTool, sendInput.run).Op)
	for message, want := range map[string]string{
		"send either toAgentId or broadcast: true": "send either --to-agent-id or --broadcast",
		"content must not be empty":                "--content must not be empty",
		"source.name must have at most 9":          "--source-name must have at most 9",
		"the content of a broadcast is long":       "the content of a broadcast is long",
		toChange + "content, toAgentId":            "give at least one field to change: --content, --to-agent-id",
		"role must be one of content, toAgentIds":  "role must be one of content, toAgentIds",
	} {
		testenv.Equal(t, f.InFlags(message), want)
	}
}
