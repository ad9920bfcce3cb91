package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
)

// askFirst asks at the terminal before an operation. The question names the records by name and id, and counts what a
// deletion removes.
func (p *program) askFirst(ctx context.Context, r records.Reader, o *op.Op, input []byte) error {
	what, err := r.Describe(ctx, o, input)
	if err != nil {
		return err
	}
	counts, err := r.DryRun(ctx, o, input)
	if err != nil {
		return err
	}
	if counts != "" {
		what += " with " + counts
	}
	question := strings.TrimSpace(deed(o, input) + " " + what)
	if o.Has(op.Destructive) {
		return p.Confirm(ctx, question)
	}
	return p.Ask(ctx, question+"?")
}

// deed returns the verb of an operation for a question.
func deed(o *op.Op, input []byte) string {
	var in struct {
		Accept bool
		Role   loci.Role
	}
	_ = json.Unmarshal(input, &in) // an operation without these fields
	switch o.Name {
	case "invitation.respond":
		if in.Accept {
			return "Accept"
		}
		return "Decline"
	case "member.update":
		return "Give the role " + string(in.Role) + " to"
	}
	_, verb, _ := strings.Cut(o.Name, ".")
	verb = strings.ReplaceAll(format.Kebab(verb), "-", " ")
	return strings.ToUpper(verb[:1]) + verb[1:]
}

// isDryRun reports whether an input asks for the counts of a deletion only.
func isDryRun(input []byte) bool {
	var in struct {
		DryRun bool `json:"dry_run"`
	}
	return json.Unmarshal(input, &in) == nil && in.DryRun
}
