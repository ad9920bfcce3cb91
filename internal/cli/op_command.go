package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/help"
	"github.com/loci-memory/loci/internal/cli/opflags"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// moveCommand returns loci memory move, which gives memory.update another atlas alone.
func (p *program) moveCommand(o *op.Op) *cobra.Command {
	cmd := p.opCommand(o, "move", opflags.New(o).Moving("atlasId", "atlas"))
	cmd.Short = "Move memories to another atlas of their workspace"
	cmd.Long = cmd.Short + ", with their files and versions. It asks before it moves several."
	cmd.Example = "loci memory move 3f9c2a7b --atlas Website\nloci memory move 3f9c2a7b 8d1e60b4 --atlas Website --yes"
	return cmd
}

// opCommand returns a command of an operation.
func (p *program) opCommand(o *op.Op, verb string, f *opflags.Set) *cobra.Command {
	c := &op.Call{Transport: "command"}
	var agent, all, yes, asks bool
	cmd := &cobra.Command{
		Use:   format.Kebab(verb),
		Short: firstSentence(o.Summary), Long: o.Summary,
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent || o.Access == op.Agent {
				c.ActorHeader = op.ActorAgent
			}
			if once := cmd.Flags().Lookup("idempotency-key"); once != nil && once.Changed && c.IdempotencyKey == "" {
				return command.UsageError("--idempotency-key must not be empty")
			}
			if confirm := cmd.Flags().Lookup(opflags.Confirm); confirm != nil && confirm.Changed {
				yes = true // the operation judges the value
			} else if confirm != nil {
				_ = cmd.Flags().Set(opflags.Confirm, "true") // --yes, or the answer at the terminal
			}
			if p.contentOnly && p.JSON {
				return command.UsageError("--content-only and --json exclude each other")
			}
			if len(args) > 1 && f.TakesSeveral() && c.IfMatch != "" {
				return command.UsageError("--if-match is for one record: name one")
			}
			c.RequestID = string(loci.NewID(time.Now()))
			p.requestID, p.inFlags = c.RequestID, f.InFlags
			if o.Name == service.AutoSet.Name && cmd.Flags().NFlag() == 0 {
				return command.Missing(cmd, "one flag")
			}
			if err := p.askPasswords(cmd, f.MissingPasswords()); err != nil {
				return err
			}
			inputs, err := f.Inputs(cmd.Context(), args, p)
			if err != nil && f.Malformed() {
				return inputError{err, f.Hint()}
			}
			if err != nil {
				return err
			}
			if p.asks = (asks || len(inputs) > 1) && !yes && !isDryRun(inputs[0]); p.asks {
				if err := p.RequireTerminal(cmd.CommandPath()); err != nil {
					return err
				}
			}
			c.IfMatch = quoteETag(c.IfMatch)
			return p.runOp(cmd, o, c, inputs, all)
		},
	}
	f.Bind(cmd)
	f.Complete(cmd, p.completion().Values)
	if o.Paged {
		cmd.Flags().BoolVar(&all, "all", false, "Show all pages, from --cursor on")
	}
	asks = o.Has(op.Destructive) || o.Method == http.MethodDelete || cmd.Flags().Lookup(opflags.Confirm) != nil
	if asks || f.TakesSeveral() {
		cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask for confirmation")
	}
	if o.AcceptsIdempotencyKey() && !o.ReadOnly { // a repeated read is harmless without it
		cmd.Flags().StringVar(&c.IdempotencyKey, "idempotency-key", "",
			"Makes a call safe to repeat: the same key returns the same answer")
	}
	if o.Has(op.IfMatch) {
		cmd.Flags().StringVar(&c.IfMatch, "if-match", "",
			"Change it only while it has this entity tag (etag of the record's own command)")
	}
	if o.Method == http.MethodGet && o.Presentation().Text != "" {
		cmd.Flags().BoolVar(&p.contentOnly, "content-only", false, "Print the "+o.Presentation().Text+
			" alone: in a file or a pipe exactly as it is stored")
	}
	if o.Access != op.Public && o.Access != op.Agent {
		cmd.Flags().BoolVar(&agent, "agent", false, "Call as an agent: without operations for people alone")
		cmd.Flags().Lookup("agent").Annotations = map[string][]string{help.GlobalFlag: nil}
	}
	return cmd
}

// firstSentence returns the first sentence of a text, without its period.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(strings.TrimSuffix(text, "."), ". ")
	return first
}

// quoteETag adds missing quotation marks to a tag.
func quoteETag(text string) string {
	if text == "" || text == "*" || strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "W/") {
		return text
	}
	return `"` + text + `"`
}

// runOp runs the operation for each input on the target and prints its answers.
func (p *program) runOp(cmd *cobra.Command, o *op.Op, c *op.Call, inputs [][]byte, all bool) error {
	p.worksHere = !o.Has(op.ServerOnly)
	t, err := p.resolveTarget()
	if err != nil {
		return err
	}
	p.useTarget(t)
	if o.Has(op.ServerOnly) && o.Access != op.Agent && t.url == "" {
		return op.NeedsServer()
	}
	if o.Access == op.Agent || c.ActorHeader != "" && t.url != "" {
		if err := t.checkAgent(); err != nil {
			return err
		}
	}
	if o.Name == service.FileExchange.Name {
		if err := t.checkFiles(); err != nil {
			return err
		}
	}
	caller, end, err := p.openCaller(cmd.Context(), t, true)
	if err != nil {
		return err
	}
	printer := &output.Printer{Console: &p.Console}
	raw, err := p.callOp(cmd.Context(), printer, caller, o, c, inputs, all)
	closed := p.CloseSlowly(end, "done; a long text is still being embedded for semantic search")
	if err = cmp.Or(err, closed); err != nil || raw == nil {
		return err
	}
	if p.contentOnly {
		return printer.PrintText(o, raw)
	}
	return printer.Print(o, raw)
}

// callOp expands ids, runs the operation, and reads the names for the printer. The answers to several inputs are
// printed at once, and nil is returned.
func (p *program) callOp(ctx context.Context, printer *output.Printer, caller op.Caller, o *op.Op, c *op.Call,
	inputs [][]byte, all bool) (raw []byte, err error) {
	r := records.Reader{Caller: caller, Table: p.table, RequestID: c.RequestID}
	for i := range inputs {
		if inputs[i], err = r.Lists().Complete(ctx, o, inputs[i]); err == nil {
			inputs[i], err = r.Lists().Expand(ctx, o, inputs[i])
		}
		if err != nil {
			return nil, err
		}
	}
	input := inputs[0]
	if o.Name == service.AutoSet.Name {
		if input, err = mergePolicy(ctx, caller, c, input); err != nil {
			return nil, err
		}
	}
	if p.asks {
		if err := p.confirmFirst(ctx, r, o, inputs); err != nil {
			return nil, err
		}
	}
	if len(inputs) > 1 {
		return nil, p.callEach(ctx, caller, o, c, inputs)
	}
	if all {
		progress := p.Progress("")
		raw, err = r.AllPages(ctx, o, c, input, func(n int) { progress.Print(fmt.Sprintf("%d read", n)) })
		progress.Clear()
	} else {
		raw, err = caller.Call(ctx, o, c, op.Args{JSON: input})
	}
	if err != nil {
		return nil, err
	}
	printer.ETag = c.ETag
	if !p.JSON {
		printer.Names = r.ContainerNames(ctx, o, raw)
		printer.People = r.PersonNames(ctx, input, raw)
		printer.ShowUsers = !o.Paged || records.ShowsUsers(input)
	}
	return raw, nil
}

// The answer of a command for several records, in the form of the operations for several.
type (
	batchAnswer struct {
		OK      bool          `json:"ok"`
		Results []batchResult `json:"results"`
	}
	batchResult struct {
		loci.BulkResult
		Message string `json:"message,omitzero"`
	}
)

// callEach runs the operation for each of several records, and once for a record that is named twice. A failed call is
// reported, and the others go on. JSON is one object, of what was done until an interruption too.
func (p *program) callEach(ctx context.Context, caller op.Caller, o *op.Op, c *op.Call, inputs [][]byte) error {
	out := batchAnswer{OK: true}
	var ended error
	for _, input := range inputs {
		id, part := opflags.RecordID(o, input), *c
		if slices.ContainsFunc(out.Results, func(r batchResult) bool { return r.ID == id }) {
			continue
		}
		_, err := caller.Call(ctx, o, &part, op.Args{JSON: input})
		if ended = ctx.Err(); ended != nil && err != nil {
			out.OK = false
			break
		}
		r := batchResult{BulkResult: loci.BulkResult{ID: id, OK: err == nil}}
		if err != nil {
			e := oneLineError(err)
			r.Code, r.Message, out.OK = e.Code, e.Message, false
			if !p.JSON {
				p.PrintMessage(fmt.Sprintf("%s: %s (%s)", id, strings.TrimSuffix(p.errorText(e), "."), e.Code))
			}
		} else if !p.JSON {
			if _, err := fmt.Fprintf(p.Out, "%s  done\n", id); err != nil {
				return err
			}
		}
		if out.Results = append(out.Results, r); ended != nil {
			break
		}
	}
	if p.JSON && len(out.Results) > 0 {
		if err := p.PrintJSON(out); err != nil {
			return err
		}
	}
	if ended != nil || out.OK {
		return ended
	}
	failed := slices.DeleteFunc(slices.Clone(out.Results), func(r batchResult) bool { return r.OK })
	p.PrintMessage(fmt.Sprintf("%d of %d failed", len(failed), len(out.Results)))
	return command.ErrReported
}
