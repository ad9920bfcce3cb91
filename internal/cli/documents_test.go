package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/loci-memory/loci/internal/testenv"
)

// callInText matches the calls of the program in a line of a shell.
var callInText = regexp.MustCompile(`(?:^|[|(] ?|&& |-- |; |sudo -u loci )loci ([a-z-].*)`)

// remarkInText matches a remark without a # behind a call, whose quoted texts are replaced.
var quotedInText, remarkInText = regexp.MustCompile(`"[^"]*"|'[^']*'`), regexp.MustCompile(` {2,}[^# ]`)

// shellWords returns the words of a call up to the end of its command.
func shellWords(line string) (words []string) {
	word, inWord, quote := "", false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '"', r == '\'':
			quote, inWord, word = r, true, strings.TrimSuffix(word, "$")
		case strings.ContainsRune(" |<>;&)", r):
			if inWord {
				words = append(words, word)
			}
			if word, inWord = "", false; r != ' ' {
				return words
			}
		case r == '#' && !inWord:
			return words
		default:
			word, inWord = word+string(r), true
		}
	}
	if inWord {
		words = append(words, word)
	}
	return words
}

// TestCommandsInDocumentsParse parses each call of the program in the blocks of the documents: its flags exist, the
// number of its arguments is right, and a remark behind it has a #.
func TestCommandsInDocumentsParse(t *testing.T) {
	t.Parallel()
	files := append(testenv.Must(filepath.Glob("../../docs/*.md"))(t), "../../README.md", "../../CONTRIBUTING.md")
	calls := 0
	for _, file := range files {
		if filepath.Base(file) == "cli.md" { // its examples are those of the commands
			continue
		}
		text := regexp.MustCompile(`\\\n +`).ReplaceAllString(string(testenv.Must(os.ReadFile(file))(t)), "")
		fenced := false
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if !fenced && !strings.HasPrefix(line, "    ") {
				continue
			}
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			for m := callInText.FindStringSubmatch(line); m != nil; m = callInText.FindStringSubmatch(m[1]) {
				calls++
				if err := parseCall(m[1]); err != nil {
					t.Errorf("%s, about line %d: %v\n  loci %s", filepath.Base(file), n+1, err, m[1])
				}
			}
		}
	}
	if calls < 100 {
		t.Errorf("%d calls were found", calls)
	}
}

// parseCall parses a call as the program does before it runs.
func parseCall(line string) error {
	words := shellWords(line)
	if remarkInText.MatchString(quotedInText.ReplaceAllString(line, "x")) {
		return fmt.Errorf("the remark behind the call has no #")
	}
	p := &program{deps: defaultDeps}
	c, rest, err := p.root().Find(words)
	if err != nil || slices.Contains(rest, "--help") {
		return err
	}
	if !c.Runnable() {
		return fmt.Errorf("loci %s is no command", strings.Join(words, " "))
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Hidden {
			err = fmt.Errorf("the flag --%s is hidden", f.Name)
		}
	})
	if err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}
