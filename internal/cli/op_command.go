package cli

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// opCommand returns the command of an operation.
func (p *program) opCommand(o *op.Op) *cobra.Command {
	resource, verb, _ := strings.Cut(o.Name, ".")
	f := newFlagSet(o)
	words := make([]string, len(f.args))
	for i, s := range f.args {
		words[i] = "<" + s.flag + ">"
	}
	c := &op.Call{Transport: "command"}
	var agent, all, yes bool
	cmd := &cobra.Command{
		Use:     strings.Join(append([]string{kebab(verb)}, words...), " "),
		Short:   o.Summary,
		Example: f.examples(o),
		Args:    f.positionalArgs(words),
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent {
				c.ActorHeader = "agent"
			}
			if once := cmd.Flags().Lookup("idempotency-key"); once != nil && once.Changed && c.IdempotencyKey == "" {
				return usageError("--idempotency-key must not be empty")
			}
			c.RequestID = loci.NewID(time.Now())
			p.requestID = c.RequestID
			input, err := f.inputJSON(args, p.readStdin)
			if err == nil {
				_, err = o.Canonical(op.Args{JSON: input})
			}
			if err != nil && f.incomplete() {
				return inputError{err, f.missingRequired()}
			}
			if err != nil {
				return err
			}
			if o.Has(op.Destructive) && !yes {
				p.confirmPrompt = strings.ToUpper(verb[:1]) + verb[1:] + " the " +
					strings.ReplaceAll(resource, "_", " ")
				if !p.isInteractive() {
					return usageError(cmd.CommandPath() + " cannot be undone: confirm it on a terminal, or add --yes")
				}
			}
			c.IfMatch = quoteETag(c.IfMatch)
			return p.runOp(cmd, o, c, input, all)
		},
	}
	f.bind(cmd)
	if o.Paged {
		cmd.Flags().BoolVar(&all, "all", false, "Show all pages, from --cursor on")
	}
	if o.Has(op.Destructive) {
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
	if o.Access != op.Public {
		cmd.Flags().BoolVar(&agent, "agent", false, "Call as a trusted agent, not as a person")
	}
	return cmd
}

// exactArgs requires one argument for each word.
func exactArgs(words ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(words) {
			return nil
		}
		want := "no arguments"
		if len(words) > 0 {
			want = strings.Join(words, " ")
		}
		return fmt.Errorf("%q takes %s, but got %d", c.CommandPath(), want, len(args))
	}
}

// positionalArgs requires one argument for each word of the flag set. A surplus
// argument may be the value of a required flag.
func (f *flagSet) positionalArgs(words []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := exactArgs(words...)(c, args)
		if missing := f.missingRequired(); err != nil && missing != nil && len(args) == len(words)+1 {
			return fmt.Errorf("%w: did you mean --%s %q?", err, missing.flag, args[len(words)])
		}
		return err
	}
}

// missingRequired returns the first required text flag without a value.
func (f *flagSet) missingRequired() *flagSpec {
	for _, s := range f.flags {
		if s.required && s.values == nil && s.jsonType == "string" && !s.list {
			return s
		}
	}
	return nil
}

// quoteETag adds missing quotation marks to a tag.
func quoteETag(text string) string {
	if text == "" || text == "*" || strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "W/") {
		return text
	}
	return `"` + text + `"`
}

// runOp runs the operation on the target and prints its answer.
func (p *program) runOp(cmd *cobra.Command, o *op.Op, c *op.Call, input []byte, all bool) error {
	t, err := p.resolveTarget()
	if err != nil {
		return err
	}
	p.currentTarget = t
	caller, end, err := p.openCaller(cmd.Context(), t, true)
	if err != nil {
		return err
	}
	raw, err := p.callOp(cmd.Context(), caller, o, c, input, all)
	reported := make(chan struct{})
	slow := time.AfterFunc(time.Second, func() {
		defer close(reported)
		p.printMessage("done; a long text is still being embedded for semantic search")
	})
	if e := end(); err == nil {
		err = e
	}
	if !slow.Stop() {
		<-reported
	}
	if err != nil {
		return err
	}
	return p.printAnswer(o, raw)
}

// callOp expands ids, runs the operation, and reads the names for the output.
func (p *program) callOp(ctx context.Context, caller op.Caller, o *op.Op, c *op.Call, input []byte,
	all bool) (raw []byte, err error) {
	input, err = expandIDs(ctx, caller, p.table, o, input)
	if err != nil {
		return nil, err
	}
	if p.confirmPrompt != "" {
		what, err := p.describeRecord(ctx, caller, o, input)
		if err == nil {
			err = p.confirm(ctx, p.confirmPrompt+" "+what)
		}
		if err != nil {
			return nil, err
		}
	}
	if all {
		raw, err = p.callAllPages(ctx, caller, o, c, input)
	} else {
		raw, err = caller.Call(ctx, o, c, op.Args{JSON: input})
	}
	if err != nil {
		return nil, err
	}
	p.etag = c.ETag
	if !p.json {
		p.names = p.lookUpContainerNames(ctx, caller, o, raw)
		maps.Copy(p.names, p.lookUpSimilarTitles(ctx, caller, raw))
	}
	return raw, nil
}
