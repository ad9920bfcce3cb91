package fence

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/testenv"
)

// surroundings are texts beside a snapshot that a reader could take for a part of it.
var surroundings = []string{"", "Please deploy.", "## Next steps\n\nDeploy.", "Memory leaks are the problem.\n",
	"~~~\ncode\n~~~",
	"│ a table │\n", "author unknown\n", "\n\n", "# Memories\n\nOf my youth.", "\r\nText\r\n", "> quoted\n", "left out",
	"There are no memories to show.\n", "```\nx\n```\n", "日本語"}

func quoteLines(text, mark string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = mark + line
		}
	}
	return strings.Join(lines, "")
}

func TestStripRemovesSnapshotsAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		page := Omitting(Markdown(textGenerator(2).Draw(t, "title"), groupGenerator.Draw(t, "groups")),
			rapid.IntRange(0, 2000).Draw(t, "omitted"))
		before := rapid.SampledFrom(surroundings).Draw(t, "before")
		after := rapid.SampledFrom(surroundings).Draw(t, "after")
		if after != "" && !strings.HasPrefix(after, "\n") {
			after = rapid.SampledFrom([]string{"", "\n"}).Draw(t, "blank") + after
		}
		testenv.RequireEqual(t, Strip(before+page+after), before+after, before+page+after)
		mark := rapid.SampledFrom([]string{"> ", ">", "    ", "\t", "  > > "}).Draw(t, "mark")
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		testenv.RequireEqual(t, Strip(before+quoteLines(page, mark)+after), before+after, mark)
		testenv.RequireEqual(t, Strip(before+strings.ReplaceAll(page, "\n", "\r\n")+after), before+after,
			"lines that end with CRLF")
	})
}

func TestStripRemovesLoneMemories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one := markdownOne(memoryGenerator.Draw(t, "memory"))
		testenv.RequireEqual(t, Strip("a\n"+one+"b\n"), "a\nb\n", one)
	})
}

func TestStripRemovesTruncatedSnapshots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		page := Omitting(Markdown(textGenerator(2).Draw(t, "title"), groupGenerator.Draw(t, "groups")),
			rapid.IntRange(0, 2000).Draw(t, "omitted"))
		mark := rapid.SampledFrom([]string{"", "> ", "  "}).Draw(t, "mark")
		for n := len("# Memories"); n <= len(page); n++ {
			cut := quoteLines(page[:n], mark)
			testenv.RequireEqual(t, strings.TrimLeft(strings.TrimPrefix(Strip("a\n"+cut), "a\n"), " >\n"), "",
				"is left of", cut)
		}
	})
}

func TestStripKeepsTextsWithoutSnapshots(t *testing.T) {
	t.Parallel()
	for _, text := range append(surroundings,
		"I keep # Memories in a drawer.\n\nWhat follows is data.",
		"Memory 7 (verified), quoted as data:\nno fence follows\n",
		"# Memories\n\nThere is more.\n~~~\n│ bar\n~~~\n") {
		testenv.Equal(t, Strip(text), text, "became")
	}
	for mark, parts := range map[string][]string{ // without these parts a text with the mark quotes nothing
		"# Memories\n":                           {"quoted as data:", "What follows is data", "There are "},
		"Memory 7 (verified), quoted as data:\n": {"# Memories", "~~~"},
	} {
		rapid.Check(t, func(t *rapid.T) {
			text := textGenerator(20).Draw(t, "text")
			for _, part := range parts {
				for strings.Contains(text, part) {
					text = strings.ReplaceAll(text, part, "")
				}
			}
			text = mark + text + "\n" + mark + "\nDeploy."
			testenv.RequireEqual(t, Strip(text), text, "became")
		})
	}
}

func TestStripKeepsHeadingsWithoutMemories(t *testing.T) {
	t.Parallel()
	frame, after := "# Memories\n"+preamble, "\n## Plan\n\n## Next steps\n\nDeploy.\n"
	for _, end := range []string{"", "\n## fact\n\n" + markdownOne(usualGroups[0].Memories[0])} {
		testenv.Equal(t, Strip(frame+end+after), after, frame+end+after)
	}
}

// Strip takes linear time, whatever the lines are: it reads four times the bytes of four times the lines.
func TestStripTakesLinearTime(t *testing.T) {
	t.Parallel()
	type textOf func(size int) string
	fill := func(before, line, end string) textOf {
		return func(size int) string {
			return before + strings.Repeat(line, (size-len(before)-len(end))/len(line)) + end
		}
	}
	frame := "# Memories\n" + preamble
	head, one := "Memory 7 (verified), quoted as data:\n", markdownOne(usualGroups[0].Memories[0])
	for name, text := range map[string]textOf{
		"headings before a memory": fill(frame, "## a\n", one), "headings before the end": fill(frame, "## a\n", ""),
		"headings apart": fill(frame, "## a\n\n", one), "quoted headings": fill(frame, "> ## a\n", "> "+head),
		"heads": fill("", head, ""), "heads in a frame": fill(frame, head, ""),
		"open memories":       fill("", head+"~~~\n", ""),
		"groups":              fill(frame, "## a\n"+head, ""),
		"lines of one memory": fill(frame+"## a\n"+head+"~~~\n", "│\n", ""),
		"frames":              fill("", "# Memories\n", ""), "frames apart": fill("", "# Memories\n\n", ""),
		"frames in one line": fill("", "# Memories of `", ""), "quote marks": fill("", "> ", "# Memories"),
		"quoted blank lines": fill(frame, "> \n", ""), "a long cut label": fill(frame+"Memory `", "a", ""),
		"torn characters": fill(frame, "\xe2", ""), "quote marks behind a frame": fill(frame+"\n", "> ", ""),
	} {
		_, few := strip(text(16 << 10))
		if _, many := strip(text(64 << 10)); few == 0 || many > 5*few {
			t.Errorf("%s: %d bytes are read, and %d of a text that is four times as long", name, few, many)
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add(Markdown("Inbox", usualGroups), 40)
	f.Add("a\n# Memories\n\nWhat", 3)
	f.Add(markdownOne(usualGroups[0].Memories[0])+"│ x", 100)
	f.Fuzz(func(t *testing.T, text string, at int) {
		if rest := Strip(text); len(rest) > len(text) {
			t.Fatalf("%q grows to %q", text, rest)
		}
		at = max(0, min(at, len(text)))
		before, page := text[:at], Markdown("x", usualGroups)
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		if strings.Contains(Strip(before+page), usualGroups[0].Memories[0].Content) &&
			!strings.Contains(before, usualGroups[0].Memories[0].Content) {
			t.Fatalf("a snapshot behind %q is kept", before)
		}
	})
}
