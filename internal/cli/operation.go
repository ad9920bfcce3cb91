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

// operation returns the command of an operation.
func (p *program) operation(o *op.Op) *cobra.Command {
	resource, verb, _ := strings.Cut(o.Name, ".")
	f := newForm(o)
	words := make([]string, len(f.words))
	for i, s := range f.words {
		words[i] = "<" + s.flag + ">"
	}
	c := &op.Call{Door: "command"}
	var agent, all, yes bool
	cmd := &cobra.Command{
		Use:     strings.Join(append([]string{kebab(verb)}, words...), " "),
		Short:   o.Summary,
		Example: f.examples(o),
		Args:    f.takes(words),
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent {
				c.Actor = "agent"
			}
			if once := cmd.Flags().Lookup("idempotency-key"); once != nil && once.Changed && c.IdempotencyKey == "" {
				return misuse("--idempotency-key is empty")
			}
			c.RequestID = loci.NewID(time.Now())
			p.requestID = c.RequestID
			input, err := f.input(args, p.stdin)
			if err == nil {
				_, err = o.Canonical(op.Args{JSON: input})
			}
			if err != nil && f.senseless() {
				return misshapen{err, f.missing()}
			}
			if err != nil {
				return err
			}
			if o.Method == "DELETE" && !yes {
				p.question = strings.ToUpper(verb[:1]) + verb[1:] + " the " + strings.ReplaceAll(resource, "_", " ")
				if !p.askable() {
					return misuse(strings.Join(append([]string{p.question}, args...), " ") +
						" cannot be taken back, and nobody can be asked here: add --yes")
				}
			}
			c.IfMatch = entityTag(c.IfMatch)
			return p.call(cmd, o, c, input, all)
		},
	}
	f.bind(cmd)
	if pages(o) {
		cmd.Flags().BoolVar(&all, "all", false, "Show all pages, from --cursor on")
	}
	if o.Method == "DELETE" {
		cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask")
	}
	if o.Method == "POST" && o.Access != op.Public && !o.Reads {
		cmd.Flags().StringVar(&c.IdempotencyKey, "idempotency-key", "", "Makes a repeated call harmless: the same key, the same answer")
	}
	if o.Guarded {
		cmd.Flags().StringVar(&c.IfMatch, "if-match", "",
			"Change it only while it has this entity tag (etag of the record's own command)")
	}
	if o.Access != op.Public {
		cmd.Flags().BoolVar(&agent, "agent", false, "Call as a trusted agent, not as a person")
	}
	return cmd
}

// exactly asks for one argument for each word.
func exactly(words ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(words) {
			return nil
		}
		want := "no arguments"
		if len(words) > 0 {
			want = strings.Join(words, " ")
		}
		return fmt.Errorf("%q takes %s, and was given %d", c.CommandPath(), want, len(args))
	}
}

// takes asks for one argument for each word of the form. One that is left over
// may be the value of a flag without which nothing can be done.
func (f *form) takes(words []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := exactly(words...)(c, args)
		if missing := f.missing(); err != nil && missing != nil && len(args) == len(words)+1 {
			return fmt.Errorf("%w: did you mean --%s %q?", err, missing.flag, args[len(words)])
		}
		return err
	}
}

// missing returns the first flag that is required, is a text, and was not given.
func (f *form) missing() *slot {
	for _, s := range f.flags {
		if s.required && s.given == nil && s.kind == "string" && !s.list {
			return s
		}
	}
	return nil
}

// entityTag puts a tag between its quotation marks, where they were left out.
func entityTag(text string) string {
	if text == "" || text == "*" || strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "W/") {
		return text
	}
	return `"` + text + `"`
}

// call runs the operation on the target and shows its answer.
func (p *program) call(cmd *cobra.Command, o *op.Op, c *op.Call, input []byte, all bool) error {
	t, err := p.target()
	if err != nil {
		return err
	}
	p.at = t
	caller, end, err := p.open(cmd.Context(), t, true)
	if err != nil {
		return err
	}
	raw, err := p.ask(cmd.Context(), caller, o, c, input, all)
	told := make(chan struct{})
	slow := time.AfterFunc(time.Second, func() {
		defer close(told)
		p.say("done; a long text is still being read, so that it is found by its meaning too")
	})
	if e := end(); err == nil {
		err = e
	}
	if !slow.Stop() {
		<-told
	}
	if err != nil {
		return err
	}
	return p.show(o, raw)
}

// ask runs the operation, once its ids are whole, and reads what the answer is
// shown with.
func (p *program) ask(ctx context.Context, caller op.Caller, o *op.Op, c *op.Call, input []byte,
	all bool) (raw []byte, err error) {
	input, err = wholeIDs(ctx, caller, p.table, o, input)
	if err != nil {
		return nil, err
	}
	if p.question != "" {
		what, err := p.subject(ctx, caller, o, input)
		if err == nil {
			err = p.confirmed(ctx, p.question+" "+what)
		}
		if err != nil {
			return nil, err
		}
	}
	if all {
		raw, err = p.callAll(ctx, caller, o, c, input)
	} else {
		raw, err = caller.Call(ctx, o, c, op.Args{JSON: input})
	}
	if err != nil {
		return nil, err
	}
	p.etag = c.ETag
	if !p.json {
		p.names = p.placeNames(ctx, caller, o, raw)
		maps.Copy(p.names, p.similarTitles(ctx, caller, raw))
	}
	return raw, nil
}
