package transfer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/replica"
)

// maxPrinted is the number of memories of a list that people see. --json lists all of them.
const maxPrinted = 20

// maxTitle is the width of a title in columns.
const maxTitle = 40

// print prints the report: for people a summary, and the memories that need a decision.
func (t *transfer) print(r replica.Report) error {
	var b strings.Builder
	target, source := "server", "local"
	if t.name == "pull" {
		target, source = source, target
	}
	fmt.Fprintf(&b, "%s %s, workspace %s: %s, %d unchanged.\n", t.verb(r.DryRun), clean(r.Server), clean(r.Workspace),
		counts(r.Changes, target), r.Unchanged)
	if slices.ContainsFunc(r.Changes, func(c replica.Change) bool { return c.Side == source }) {
		fmt.Fprintf(&b, "%s: %s.\n", t.reverse(r.DryRun), counts(r.Changes, source))
	}
	if r.DryRun {
		printList(&b, "", r.Changes, func(c replica.Change) string {
			return c.Action + map[string]string{"local": " here", "server": " there"}[c.Side] + named(c.Memory)
		})
	}
	printList(&b, "Changed on both sides and left (--mine or --theirs decides):", r.Conflicts,
		func(c replica.Conflict) string {
			return fmt.Sprintf("%s here, %s there", c.Here, c.There) + named(c.Memory)
		})
	printList(&b, "Deleted on one side and left on the other ("+advice+"):", r.Deletions,
		func(d replica.Deletion) string {
			return map[string]string{"local": "deleted here", "server": "deleted there"}[d.Side] + named(d.Memory)
		})
	printList(&b, "Refused:", r.Refusals, func(f replica.Refusal) string {
		return fmt.Sprintf("%s (%s)", strings.TrimSuffix(clean(f.Message), "."), f.Code) + named(f.Memory)
	})
	if r.Waiting > 0 {
		fmt.Fprintf(&b, "%s new or changed on the other side: loci %s.\n",
			format.Plural(int64(r.Waiting), "memory is", "memories are"), t.opposite())
	}
	return t.PrintResult(r, b.String())
}

// verb begins the summary: it says what was done, and in which direction.
func (t *transfer) verb(dryRun bool) string {
	switch {
	case t.name == "push" && dryRun:
		return "Dry run of a push to"
	case t.name == "push":
		return "Pushed to"
	case dryRun:
		return "Dry run of a pull from"
	}
	return "Pulled from"
}

// reverse begins the line about memories that --theirs or --mine copied against the direction of the command.
func (t *transfer) reverse(dryRun bool) string {
	took := "took"
	if dryRun {
		took = "would take"
	}
	if t.name == "push" {
		return "This device " + took + " the version of the server (--theirs)"
	}
	return "The server " + took + " the version of this device (--mine)"
}

// counts counts the changes on a side.
func counts(changes []replica.Change, side string) string {
	n := map[string]int{}
	for _, c := range changes {
		if c.Side == side {
			n[c.Action]++
		}
	}
	return fmt.Sprintf("%d created, %d updated, %d deleted", n["created"], n["updated"], n["deleted"])
}

func (t *transfer) opposite() string {
	if t.name == "push" {
		return "pull"
	}
	return "push"
}

// advice says how deletions are copied: each command copies those of its source.
const advice = "push --delete copies those here, pull --delete those there"

// printList prints the first items of a list below a title.
func printList[T any](b *strings.Builder, title string, list []T, line func(T) string) {
	if len(list) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintln(b, title)
	}
	for _, item := range list[:min(len(list), maxPrinted)] {
		fmt.Fprintf(b, "    %s\n", line(item))
	}
	if more := len(list) - maxPrinted; more > 0 {
		fmt.Fprintf(b, "    and %d more: --json lists all\n", more)
	}
}

// named ends a line with the title and an id of a memory.
func named(m replica.Memory) string {
	id := m.LocalID
	if id == "" {
		id = m.RemoteID
	}
	return fmt.Sprintf(": %s  %s", id, ansi.Truncate(clean(m.Title), maxTitle, "…"))
}

func clean[T ~string](text T) string { return format.StripControl(string(text), false) }
