package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/testenv"
)

// advisers are the packages whose texts tell an operator what to run.
var advisers = []string{"../doctor", "../server", "../server/backup", "../sqldb", "../sqldb/sqlite",
	"../sqldb/postgres", "../store", "../store/integrity", "../store/purge", "admin", "."}

// commandPattern finds a command in a text: its words, and its flags.
var commandPattern = regexp.MustCompile(`\bloci((?: [a-z][a-z-]*)+)((?: --[a-z][a-z-]*)*)`)

// The commands that texts name exist, with the flags that follow them.
func TestAdvisedCommandsExist(t *testing.T) {
	t.Parallel()
	root := (&program{deps: defaultDeps}).root()
	tried := 0
	for _, folder := range advisers {
		testenv.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && path != folder {
				return fs.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file := testenv.Must(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
			for _, text := range textsOf(file) {
				text = strings.ReplaceAll(text, "loci loci ", "loci ") // the user of a server runs it
				for _, m := range commandPattern.FindAllStringSubmatch(text, -1) {
					if what := missingCommand(root, strings.Fields(m[1]), strings.Fields(m[2])); what != "" {
						t.Errorf("%s: %q: %s", path, m[0], what)
					}
					tried++
				}
			}
			return nil
		}))
	}
	if tried < 30 {
		t.Errorf("only %d commands were found", tried)
	}
}

// proseWords follow the name of the program, or of its locks.
var proseWords = []string{"that", "is", "database", "migration"}

// missingCommand says which word is no command, or which flag is none of its flags. Prose may follow a command that has
// no further ones.
func missingCommand(root *cobra.Command, words, flags []string) string {
	c := root
	for i, word := range words {
		next, _, err := c.Find([]string{word})
		if err != nil || next == c {
			if i == 0 && slices.Contains(proseWords, word) || i > 0 && (!c.HasSubCommands() || c.Runnable()) {
				break
			}
			return word + " is no command"
		}
		c = next
	}
	for _, name := range flags {
		name = strings.TrimPrefix(name, "--")
		if c.Flags().Lookup(name) == nil && c.InheritedFlags().Lookup(name) == nil {
			return name + " is no flag of " + c.CommandPath()
		}
	}
	return ""
}

// textsOf returns the texts of a file. Parts that a + joins are one.
func textsOf(file *ast.File) (list []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		expression, is := n.(ast.Expr)
		if !is {
			return true
		}
		text, is := textOf(expression)
		if is {
			list = append(list, text)
		}
		return !is
	})
	return list
}

// textOf returns the text of an expression that is one. A part without a literal is a word.
func textOf(e ast.Expr) (text string, is bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, isLeft := textOf(e.X)
		right, isRight := textOf(e.Y)
		if e.Op == token.ADD && (isLeft || isRight) {
			return left + right, true
		}
	}
	return "", false
}
