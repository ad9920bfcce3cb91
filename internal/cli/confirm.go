package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
)

// confirmFirst asks one question at the terminal before an operation on one record or several. It names the records by
// name and id, and counts what a deletion removes.
func (p *program) confirmFirst(ctx context.Context, r records.Reader, o *op.Op, inputs [][]byte) error {
	named := make([]string, len(inputs))
	for i, input := range inputs {
		what, err := r.Describe(ctx, o, input)
		if err != nil {
			return err
		}
		counts, err := r.DryRun(ctx, o, input)
		if err != nil {
			return err
		}
		if named[i] = what; counts != "" {
			named[i] += " with " + counts
		}
	}
	what := named[0]
	if len(named) > 1 {
		fmt.Fprintf(p.Err, "  %s\n", strings.Join(named, "\n  "))
		what = fmt.Sprintf("these %d", len(named))
	}
	input := inputs[0]
	question := strings.TrimSpace(verbOf(o, input)+" "+what) + " on " + p.currentTarget.name()
	if o.Has(op.Destructive) && !isBulkArchive(input) {
		return p.Confirm(ctx, question)
	}
	return p.Ask(ctx, question+"?")
}

// verbOf returns the verb of an operation for a question.
func verbOf(o *op.Op, input []byte) string {
	var in struct {
		Accept     bool
		Role       loci.Role
		Action     loci.BulkAction
		SessionIDs []loci.ID
	}
	_ = json.Unmarshal(input, &in) // an operation without these fields
	switch o.Name {
	case "invitation.respond":
		if in.Accept {
			return "Accept"
		}
		return "Decline"
	case "session.bulk":
		n := len(in.SessionIDs)
		return fmt.Sprintf("%s %s", capitalize(string(in.Action)), format.Plural(n, "session", "sessions"))
	case "memory.update":
		return "Move"
	case "member.update":
		return "Give the role " + string(in.Role) + " to"
	}
	_, verb, _ := strings.Cut(o.Name, ".")
	verb = strings.ReplaceAll(format.Kebab(verb), "-", " ")
	return capitalize(verb)
}

func capitalize(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// isBulkArchive reports whether an input archives or restores sessions, which can be undone.
func isBulkArchive(input []byte) bool {
	var in struct{ Action loci.BulkAction }
	_ = json.Unmarshal(input, &in) // an operation without an action
	return in.Action == loci.BulkArchive || in.Action == loci.BulkRestore
}

// isDryRun reports whether an input asks for the counts of a deletion only.
func isDryRun(input []byte) bool {
	var in struct {
		DryRun bool `json:"dry_run"`
	}
	return json.Unmarshal(input, &in) == nil && in.DryRun
}

// askPasswords asks at the terminal for the passwords of flags, for a new one twice.
func (p *program) askPasswords(cmd *cobra.Command, flags []string) error {
	if !p.IsInteractive() {
		return nil
	}
	for _, name := range flags {
		label := strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
		text, err := p.PromptSecret(cmd.Context(), label+": ")
		if err == nil && strings.HasPrefix(name, "new-") {
			var again string
			if again, err = p.PromptSecret(cmd.Context(), label+" again: "); err == nil && again != text {
				err = command.UsageError("the two passwords differ")
			}
		}
		if err == nil {
			err = cmd.Flags().Set(name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
