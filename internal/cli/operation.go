package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// operation returns the command of an operation.
func (p *program) operation(o *op.Op) *cobra.Command {
	_, verb, _ := strings.Cut(o.Name, ".")
	f := newForm(o)
	words := make([]string, len(f.words))
	for i, s := range f.words {
		words[i] = "<" + s.flag + ">"
	}
	c := &op.Call{Door: "command"}
	var agent bool
	cmd := &cobra.Command{
		Use:     strings.Join(append([]string{kebab(verb)}, words...), " "),
		Short:   o.Summary,
		Example: f.examples(o),
		Args:    exactly(words...),
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
				return misshapen{err}
			}
			if err != nil {
				return err
			}
			return p.call(cmd, o, c, input)
		},
	}
	f.bind(cmd)
	if o.Method == "POST" && o.Access != op.Public && !o.Reads {
		cmd.Flags().StringVar(&c.IdempotencyKey, "idempotency-key", "", "Makes a repeated call harmless: the same key, the same answer")
	}
	if o.Guarded {
		cmd.Flags().StringVar(&c.IfMatch, "if-match", "", "Change it only while it has this entity tag")
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

// call runs the operation on the target and shows its answer.
func (p *program) call(cmd *cobra.Command, o *op.Op, c *op.Call, input []byte) error {
	t, err := p.target()
	if err != nil {
		return err
	}
	caller, end, err := p.open(cmd.Context(), t, true)
	if err != nil {
		return err
	}
	raw, err := caller.Call(cmd.Context(), o, c, op.Args{JSON: input})
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
