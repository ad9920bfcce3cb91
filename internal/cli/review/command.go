// Package review decides on candidates for memories: at a terminal one after another, or by flags.
package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/opflags"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
)

// Options are what the command needs from the program.
type Options struct {
	Console *console.Console
	// List lists candidates, and Review decides on them.
	List, Review *op.Op
	// Open opens the target, and returns the reader of its records and the function that closes it.
	Open func(ctx context.Context) (records.Reader, func() error, error)
	// Values completes the records of a resource in a shell.
	Values func(resource string) cobra.CompletionFunc
}

// A decision is a flag that names candidates.
type decision struct {
	flag, usage string
	action      loci.ModerationAction
}

// decisions are the flags, in the order in which they apply.
var decisions = []decision{
	{"keep", "Make memories of these candidates", loci.ModerationCompile},
	{"replace", "Make memories of these, in place of the memory that each is similar to, or of ID=MEMORY",
		loci.ModerationCompile},
	{"dismiss", "Make no memories of these", loci.ModerationDismiss},
	{"undo", "Take the last decision on these back", loci.ModerationRevert},
}

// Command returns loci review.
func Command(o Options) *cobra.Command {
	filter := opflags.New(o.List).Only("workspace_id", "atlas_id", "session_id", "scope")
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Decide which candidates of sessions become memories",
		Long: "Shows the candidates that wait, one after another, each with its session and with the memories that " +
			"it is similar to. You keep it, keep it in place of such a memory, edit it in $VISUAL or $EDITOR, " +
			"dismiss it, or skip it, and can undo each decision.\n\n" +
			"Flags decide without a terminal. Without flags and a terminal, and with --json, it lists the candidates " +
			"that wait.",
	}
	filter.Bind(cmd)
	filter.Complete(cmd, o.Values)
	cmd.Example = "loci review\nloci review --session-id 8d1e60b4\n" +
		"loci review --keep 3f9c2a7b,5b7d90e1 --dismiss 8d1e60b4\nloci review --replace 3f9c2a7b=c4a1f2d9 --json"
	given := make([][]string, len(decisions))
	for i, d := range decisions {
		cmd.Flags().StringSliceVar(&given[i], d.flag, nil, d.usage)
		_ = cmd.RegisterFlagCompletionFunc(d.flag, o.Values("candidate")) // fails for an unknown flag only
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		inputs, err := filter.Inputs(cmd.Context(), args, o.Console)
		if err != nil {
			return command.UsageError(loci.AsError(err).Message)
		}
		decided := false
		for i, d := range decisions {
			changed := cmd.Flags().Changed(d.flag)
			if decided = decided || changed; changed && len(given[i]) == 0 {
				return command.UsageError("--" + d.flag + " names no candidate")
			}
		}
		if decided && string(inputs[0]) != "{}" {
			return command.UsageError("a decision names its candidates: leave out the filters")
		}
		r, end, err := o.Open(cmd.Context())
		if err != nil {
			return err
		}
		r.RequestID = string(loci.NewID(time.Now()))
		if decided {
			err = o.decide(cmd.Context(), r, given)
		} else {
			err = o.show(cmd.Context(), r, inputs[0])
		}
		closed := end()
		return cmp.Or(err, closed)
	}
	return cmd
}

// show reads the candidates that wait, and reviews or lists them.
func (o Options) show(ctx context.Context, r records.Reader, filter []byte) error {
	filter, err := r.Lists().Expand(ctx, o.List, filter)
	if err != nil {
		return err
	}
	var in loci.ListCandidates
	if err := json.Unmarshal(filter, &in); err != nil {
		return err
	}
	in.Status = []loci.CandidateStatus{loci.CandidatePending}
	if filter, err = json.Marshal(in); err != nil {
		return err
	}
	c := &op.Call{Transport: "command", RequestID: r.RequestID}
	raw, err := r.AllPages(ctx, o.List, c, filter, func(int) {})
	if err != nil {
		return err
	}
	if width, _ := o.Console.Terminal(o.Console.Out); width == 0 || !o.Console.IsInteractive() || o.Console.JSON {
		return (&output.Printer{Console: o.Console}).Print(o.List, raw)
	}
	var list loci.Candidates
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	x := &dialog{Options: o, r: r, candidates: list.Candidates}
	if err := x.readSessions(ctx, in); err != nil {
		return err
	}
	return x.run(ctx)
}

// decide applies the decisions of the flags, and prints a result for each candidate. It decides nothing where an id
// names no candidate.
func (o Options) decide(ctx context.Context, r records.Reader, given [][]string) error {
	var calls []func() ([]loci.ModerationResult, error)
	decided := map[loci.ID]string{}
	once := func(flag string, ids ...loci.ID) error {
		for _, id := range ids {
			if other := decided[id]; other != "" && other != flag {
				return command.UsageError(fmt.Sprintf("--%s and --%s both name the candidate %s: decide once",
					other, flag, id))
			}
			decided[id] = flag
		}
		return nil
	}
	for i, d := range decisions {
		if d.flag == "replace" {
			for _, text := range given[i] {
				in, err := replacement(ctx, r, text)
				if err == nil {
					err = once(d.flag, in.CandidateID)
				}
				if err != nil {
					return err
				}
				calls = append(calls, func() ([]loci.ModerationResult, error) { return replace(ctx, r, in) })
			}
			continue
		}
		for ids := range slices.Chunk(given[i], 100) {
			in, err := json.Marshal(map[string]any{"action": d.action, "candidateIds": ids})
			if err == nil {
				in, err = r.Lists().Expand(ctx, o.Review, in)
			}
			var named struct{ CandidateIDs []loci.ID }
			if err == nil {
				err = json.Unmarshal(in, &named)
			}
			if err == nil && d.action != loci.ModerationRevert { // it follows a decision
				err = once(d.flag, named.CandidateIDs...)
			}
			if err != nil {
				return err
			}
			calls = append(calls, func() ([]loci.ModerationResult, error) {
				out, err := records.Do[loci.ModerationResults](ctx, r, o.Review.Name, json.RawMessage(in))
				return out.Results, err
			})
		}
	}
	var out loci.ModerationResults
	for _, call := range calls {
		results, err := call()
		if err != nil {
			return errors.Join(o.print(out), err)
		}
		out.Results = append(out.Results, results...)
	}
	return o.print(out)
}

// print prints the results of decisions.
func (o Options) print(out loci.ModerationResults) error {
	if len(out.Results) == 0 {
		return nil
	}
	return (&output.Printer{Console: o.Console}).PrintOutput(o.Review, out)
}

// replacement returns the input by which a candidate replaces a memory: CANDIDATE=MEMORY, or the candidate alone where
// it is similar to one memory.
func replacement(ctx context.Context, r records.Reader, text string) (in loci.ModerateCandidate, err error) {
	candidate, memory, named := strings.Cut(text, "=")
	given := map[string]any{"candidateId": candidate, "action": loci.ModerationCompile}
	if named {
		given["supersede"] = memory
	}
	moderate := r.Table.Op("session.moderate")
	raw, err := json.Marshal(given)
	if err == nil {
		raw, err = r.Lists().Complete(ctx, moderate, raw)
	}
	if err == nil {
		raw, err = r.Lists().Expand(ctx, moderate, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &in)
	}
	if err != nil || named {
		return in, err
	}
	c, err := candidateOf(ctx, r, in)
	if err != nil {
		return in, err
	}
	old := replaceable(c)
	if len(old) != 1 {
		return in, loci.Errorf(loci.CodeInvalidQuery, "The candidate %s is similar to %s: name the memory that it "+
			"replaces: --replace %[1]s=MEMORY", c.ID, format.Plural(len(old), "memory", "memories"))
	}
	in.Supersede = &old[0]
	return in, nil
}

// candidateOf reads the candidate that an input names.
func candidateOf(ctx context.Context, r records.Reader, in loci.ModerateCandidate) (c loci.Candidate, err error) {
	list := loci.ListCandidates{SessionID: in.SessionID}
	read := func(p loci.Paging) ([]loci.Candidate, loci.Page, error) {
		list.Paging = p
		page, err := records.Do[loci.Candidates](ctx, r, "session.candidates", list)
		return page.Candidates, page.Page, err
	}
	for c, err := range loci.AllItems(loci.Paging{Limit: 100}, read) {
		if err != nil || c.ID == in.CandidateID {
			return c, err
		}
	}
	return c, loci.NewError(loci.CodeNotFound)
}

// replaceable returns the memories that a candidate can replace: the one that it names, and those similar to it.
func replaceable(c loci.Candidate) (ids []loci.OptionalID) {
	for _, m := range append([]loci.SimilarToMemory{{MemoryID: c.Replaces}}, c.Similar...) {
		if id := loci.OptionalID(m.MemoryID); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// replace makes a memory of a candidate in place of another. A refusal is its result.
func replace(ctx context.Context, r records.Reader, in loci.ModerateCandidate) ([]loci.ModerationResult, error) {
	result := loci.ModerationResult{BulkResult: loci.BulkResult{ID: in.CandidateID, OK: true}}
	out, err := records.Do[loci.ModeratedCandidate](ctx, r, "session.moderate", in)
	if e, refused := errors.AsType[*loci.Error](err); refused {
		result.OK, result.Code, err = false, e.Code, nil
	} else if out.Memory != nil {
		result.MemoryID = out.Memory.ID
	}
	return []loci.ModerationResult{result}, err
}
