package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/edit"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/title"
)

// A dialog is a review at a terminal.
type dialog struct {
	Options
	r          records.Reader
	candidates []loci.Candidate
	sessions   map[loci.ID]string // their texts, by id
	at         int                // the candidate that is shown
	done       []step
}

// A step is something that a person did, and how it is undone.
type step struct {
	at   int // the candidate
	undo func(ctx context.Context) error
}

// readSessions reads the names of the sessions of the candidates.
func (x *dialog) readSessions(ctx context.Context, in loci.ListCandidates) error {
	x.sessions = map[loci.ID]string{}
	for _, c := range x.candidates {
		x.sessions[c.SessionID] = ""
	}
	missing := len(x.sessions)
	filter := map[string]any{"scope": cmp.Or(in.Scope, loci.ScopeOwn)}
	for s, err := range x.r.Lists().List(ctx, x.r.Table.Op("session.list"), filter) {
		if err != nil || missing == 0 {
			return err
		}
		if _, wanted := x.sessions[s.ID]; wanted {
			x.sessions[s.ID] = s.Label()
			missing--
		}
	}
	return nil
}

// run shows the candidates until the last one is decided on, or the person quits.
func (x *dialog) run(ctx context.Context) error {
	for shown := -1; x.at < len(x.candidates); {
		if shown != x.at {
			if err := x.show(ctx); err != nil {
				return err
			}
			shown = x.at
		}
		answer, err := x.Console.Prompt(ctx, x.prompt())
		if err == io.EOF || err == nil && isWord(answer, "quit") {
			break
		}
		if err != nil {
			return err
		}
		changed, err := x.act(ctx, answer)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			x.Console.PrintMessage(strings.TrimSuffix(message(err), "."))
		}
		if changed {
			shown = -1
		}
	}
	if n := len(x.done); n > 0 && x.candidates[x.done[n-1].at].Status != loci.CandidatePending {
		id := string(x.candidates[x.done[n-1].at].ID)
		fmt.Fprintf(x.Console.Err, "The last decision is undone by: loci review --undo %s\n",
			format.ShortID(id, format.MinShortID))
	}
	_, err := fmt.Fprintln(x.Console.Out, x.summary())
	return err
}

// message returns the message of an error for people.
func message(err error) string {
	if e, ok := errors.AsType[*loci.Error](err); ok {
		return format.StripControl(fmt.Sprintf("%s (%s)", strings.TrimSuffix(e.Message, "."), e.Code), false)
	}
	return err.Error()
}

// summary counts the decisions.
func (x *dialog) summary() string {
	if len(x.candidates) == 0 {
		return "No candidate waits for your review."
	}
	count := map[loci.CandidateStatus]int{}
	for _, c := range x.candidates {
		count[c.Status]++
	}
	return fmt.Sprintf("%d kept, %d dismissed; %s.", count[loci.CandidateCompiled],
		count[loci.CandidateDismissed]+count[loci.CandidateReverted],
		format.Plural(count[loci.CandidatePending], "candidate waits", "candidates wait"))
}

// prompt names the actions that the candidate allows.
func (x *dialog) prompt() string {
	text := "[k]eep"
	if len(replaceable(x.candidates[x.at])) > 0 {
		text += " [r]eplace"
	}
	if x.candidates[x.at].Status == loci.CandidatePending {
		text += " [e]dit"
	}
	text += " [d]ismiss [s]kip"
	if len(x.done) > 0 {
		text += " [u]ndo"
	}
	return text + " [q]uit: "
}

// isWord reports whether an answer is a word, or its first letter.
func isWord(answer, word string) bool {
	return strings.EqualFold(answer, word) || strings.EqualFold(answer, word[:1])
}

// act does what a person answered, and reports whether the candidate is to be shown again.
func (x *dialog) act(ctx context.Context, answer string) (changed bool, err error) {
	c := x.candidates[x.at]
	action, which, _ := strings.Cut(answer, " ")
	switch {
	case isWord(action, "replace"):
		id, err := x.replaced(ctx, c, strings.TrimSpace(which))
		if err != nil {
			return false, err
		}
		return true, x.moderate(ctx, loci.ModerationCompile, &id)
	case which != "":
	case isWord(action, "keep"):
		var beside *loci.OptionalID
		if c.Replaces != "" {
			beside = new(loci.OptionalID)
		}
		return true, x.moderate(ctx, loci.ModerationCompile, beside)
	case isWord(action, "dismiss") && c.Status == loci.CandidateReverted: // it is no memory any more
		x.next(nil)
		return true, nil
	case isWord(action, "dismiss"):
		return true, x.moderate(ctx, loci.ModerationDismiss, nil)
	case isWord(action, "skip"):
		x.next(nil)
		return true, nil
	case isWord(action, "edit") && c.Status != loci.CandidatePending:
		return false, errors.New("it was a memory: keep it, and change its text with loci memory edit")
	case isWord(action, "edit"):
		return true, edit.Text(ctx, x.Console, "candidate "+string(c.ID), c.Content, false, func(after string) error {
			if err := x.setContent(ctx, x.at, after); err != nil {
				return err
			}
			at := x.at
			undo := func(ctx context.Context) error { return x.setContent(ctx, at, c.Content) }
			x.done = append(x.done, step{at, undo})
			return nil
		})
	case isWord(action, "undo") && len(x.done) > 0:
		last := x.done[len(x.done)-1]
		if last.undo != nil {
			if err := last.undo(ctx); err != nil {
				return false, err
			}
		}
		x.at, x.done = last.at, x.done[:len(x.done)-1]
		return true, nil
	}
	x.Console.PrintMessage(help)
	return false, nil
}

// help explains the answers.
const help = "answer with a word or its first letter:\n" +
	"  keep     make a memory of it\n" +
	"  replace  the same, in place of the memory below it (replace 2: of the second)\n" +
	"  edit     change its text in your editor\n" +
	"  dismiss  make no memory of it\n" +
	"  skip     let it wait\n" +
	"  undo     take the last step back\n" +
	"  quit     end the review; what is decided stays so"

// next goes to the next candidate.
func (x *dialog) next(undo func(ctx context.Context) error) {
	x.done = append(x.done, step{x.at, undo})
	x.at++
}

// moderate decides on the candidate, and goes to the next one.
func (x *dialog) moderate(ctx context.Context, action loci.ModerationAction, supersede *loci.OptionalID) error {
	at := x.at
	if err := x.setStatus(ctx, at, action, supersede); err != nil {
		return err
	}
	x.next(func(ctx context.Context) error { return x.setStatus(ctx, at, loci.ModerationRevert, nil) })
	return nil
}

// setStatus decides on a candidate.
func (x *dialog) setStatus(ctx context.Context, at int, action loci.ModerationAction,
	supersede *loci.OptionalID) error {
	c := &x.candidates[at]
	out, err := records.Do[loci.ModeratedCandidate](ctx, x.r, "session.moderate", loci.ModerateCandidate{
		SessionID: c.SessionID, CandidateID: c.ID, Action: action, Supersede: supersede})
	if err == nil {
		*c = out.Candidate
	}
	return err
}

// setContent changes the text of a candidate.
func (x *dialog) setContent(ctx context.Context, at int, text string) error {
	c, content := &x.candidates[at], loci.CandidateContent(text)
	out, err := records.Do[loci.OneCandidate](ctx, x.r, "session.edit",
		loci.EditCandidate{SessionID: c.SessionID, CandidateID: c.ID, Content: &content})
	if err == nil {
		*c = out.Candidate
	}
	return err
}

// replaced returns the memory that the candidate is to replace: by its number in the list, by its id, or the only one.
func (x *dialog) replaced(ctx context.Context, c loci.Candidate, which string) (loci.OptionalID, error) {
	old := replaceable(c)
	n, err := strconv.Atoi(which)
	switch {
	case err == nil && n >= 1 && n <= len(old):
		return old[n-1], nil
	case which == "" && len(old) == 1:
		return old[0], nil
	case which == "" && len(old) == 0:
		return "", errors.New("it is similar to no memory: name one, as in replace ID")
	case which == "":
		return "", errors.New("name the memory: replace 1 for the first one below it, or replace ID")
	}
	id, err := x.r.Lists().ID(ctx, "memory", loci.ID(which))
	return loci.OptionalID(id), err
}

// show prints the candidate with its session, and the memories that it can replace.
func (x *dialog) show(ctx context.Context) error {
	c := x.candidates[x.at]
	width, colour := x.Console.Terminal(x.Console.Err)
	width = cmp.Or(width, 80)
	var b strings.Builder
	about := fmt.Sprintf("%s %s", c.Type, format.ShortID(string(c.ID), format.MinShortID))
	if len(c.Tags) > 0 {
		about += ", tags " + strings.Join(c.Tags, ", ")
	}
	session := format.StripControl(cmp.Or(x.sessions[c.SessionID], string(c.SessionID)), false)
	about += fmt.Sprintf(", from the session %q", cut(session, maxSession))
	if c.Status == loci.CandidateReverted {
		about += ", kept and undone"
	}
	number := fmt.Sprintf("%d of %d", x.at+1, len(x.candidates))
	lines := format.Wrap(number+": "+format.StripControl(about, false), width)
	lines[0] = strings.Replace(lines[0], number, format.Bold(number, colour), 1)
	fmt.Fprintf(&b, "\n%s\n\n", strings.Join(lines, "\n"))
	if c.Title != title.Derive(c.Content) {
		fmt.Fprintf(&b, "%s\n\n", indented(format.StripControl(c.Title, false), width))
	}
	fmt.Fprintf(&b, "%s\n\n", indented(format.StripControl(c.Content, true), width))
	if c.Evidence != "" {
		fmt.Fprintf(&b, "%s\n\n", indented("Evidence: "+format.StripControl(c.Evidence, true), width))
	}
	for i, id := range replaceable(c) {
		m, err := records.Do[loci.MemoryDetail](ctx, x.r, "memory.get", loci.GetMemory{MemoryID: loci.ID(id)})
		if loci.Is(err, loci.CodeNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n\n", x.memory(c, i+1, m.Memory, width))
	}
	_, err := io.WriteString(x.Console.Err, b.String())
	return err
}

// How many characters of a session's title and of a similar memory are shown.
const (
	maxSession = 40
	maxSimilar = 400
)

// cut returns a text, or its beginning where it has more than n characters.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:n-1])) + "…"
}

// memory describes a memory that the candidate can replace.
func (x *dialog) memory(c loci.Candidate, number int, m loci.Memory, width int) string {
	how := "replaces"
	for _, s := range c.Similar {
		if s.MemoryID == m.ID {
			how = fmt.Sprintf("%.0f %% similar to", s.Score*100)
		}
	}
	text := cut(format.StripControl(strings.TrimSpace(m.Content), true), maxSimilar)
	status := ""
	if m.Status != loci.MemoryActive {
		status = ", " + string(m.Status)
	}
	id := format.ShortID(string(m.ID), format.MinShortID)
	return fmt.Sprintf("%d. %s the memory %s%s\n%s", number, how, id, status, indented(text, width))
}

// indented returns a text whose lines are indented, and broken between words where they are longer than the terminal.
func indented(text string, width int) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if utf8.RuneCountInString(line) <= width-3 {
			lines = append(lines, line)
		} else {
			lines = append(lines, format.Wrap(line, width-3)...)
		}
	}
	return "  " + strings.Join(lines, "\n  ")
}
