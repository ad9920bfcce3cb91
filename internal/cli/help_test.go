package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/help"
	"github.com/loci-memory/loci/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files")

// helpPage returns the page of a command as loci help prints it into a file.
func helpPage(c *cobra.Command) string {
	var page bytes.Buffer
	words := wordsOf(c)
	p := &program{deps: defaultDeps}
	p.Out = &page
	root := p.root()
	c, _, _ = root.Find(words)
	c.InitDefaultHelpFlag()
	_ = c.Help()
	return page.String()
}

// fillerWords are the words of a page that nobody has written for its command.
var fillerWords = regexp.MustCompile(`Work with|Some [a-z]|Must be true|0000-0000|--confirm|nextCursor|These too|Only these|0 to 1 \(`)

// TestHelpGolden compares the pages of all commands with docs/cli.md, and keeps their width, words and examples.
func TestHelpGolden(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	all.WriteString("# Commands\n\nThe help of all commands, as `loci help` prints it. The names of settings are in " +
		"[self-hosting.md](self-hosting.md).\n")
	for _, c := range allCommands(t) {
		page := helpPage(c)
		fmt.Fprintf(&all, "\n## %s\n\n```text\n%s```\n", c.CommandPath(), page)
		if filler := fillerWords.FindString(page); filler != "" {
			t.Errorf("%s: the page has the words %q", c.CommandPath(), filler)
		}
		for line := range strings.SplitSeq(page, "\n") {
			if utf8.RuneCountInString(line) > help.Width {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		first, _ := utf8.DecodeRuneInString(c.Short)
		if !unicode.IsUpper(first) || strings.HasSuffix(c.Short, ".") || strings.Contains(c.Short, "\n") {
			t.Errorf("%s: the summary %q is no phrase with a capital", c.CommandPath(), c.Short)
		}
		if !c.HasSubCommands() {
			checkExamples(t, c)
		}
	}
	const golden = "../../docs/cli.md"
	if *update {
		testenv.NoError(t, os.WriteFile(golden, []byte(all.String()), 0o644))
	}
	if want := testenv.Must(os.ReadFile(golden))(t); string(want) != all.String() {
		t.Errorf("%s differs: run go test ./internal/cli -run Golden -update", golden)
	}
}

// TestHelpFlagMayPrecedeCommand prints the page of the command that follows the flag.
func TestHelpFlagMayPrecedeCommand(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"--help memory create", "memory --help create", "help memory create"} {
		d := newTestTerminal(t)
		d.expectRun(t, exitOK, "", strings.Fields(line)...)
		testenv.Contains(t, d.out.String(), "loci memory create [text] [flags]")
	}
}

// checkExamples requires an example that calls the command, and examples with flags that it has.
func checkExamples(t *testing.T, c *cobra.Command) {
	t.Helper()
	found := false
	for line := range strings.SplitSeq(c.Example, "\n") {
		_, call, ok := strings.Cut(line, c.CommandPath())
		found = found || ok
		call, _, _ = strings.Cut(call, " -- ") // the command of another program follows
		call = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(call, "")
		for _, m := range regexp.MustCompile(` --([a-z-]+)`).FindAllStringSubmatch(call, -1) {
			if f := c.Flags().Lookup(m[1]); (f == nil || f.Hidden) && c.InheritedFlags().Lookup(m[1]) == nil {
				t.Errorf("%s: there is no flag --%s: %s", c.CommandPath(), m[1], line)
			}
		}
	}
	if !found {
		t.Errorf("%s has no example", c.CommandPath())
	}
}
