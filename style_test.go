package loci_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the longest line of Go; a tab counts as four columns.
const maxColumns = 120

// loneWord is a line that only an automatic wrap makes: the last result of a function alone, or a word of a sentence.
var loneWord = regexp.MustCompile(`^\s*(?:(?:\w+ )?error\) \{|error\)\) .*\{|// [\w+]+,?)$`)

// TestLinesFitTheScreen measures all lines but those of raw strings: SQL, JSON and struct tags cannot be broken.
func TestLinesFitTheScreen(t *testing.T) {
	t.Parallel()
	walkSources(t, func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(text), "// Code generated ") {
			return
		}
		raw := rawStringLines(t, path, text)
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if n > maxColumns && !raw[i+1] {
				t.Errorf("%s:%d has %d columns, at most %d are allowed", path, i+1, n, maxColumns)
			}
			isComment := func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "//") }
			if loneWord.MatchString(line) && isComment(lines[max(0, i-1)]) == isComment(line) &&
				!(isComment(line) && strings.HasSuffix(path, "_test.go")) { // the output of an example
				t.Errorf("%s:%d has a word alone: break the sentence or the signature elsewhere", path, i+1)
			}
		}
	})
}

// rawStringLines returns the lines of a file that raw strings touch.
func rawStringLines(t *testing.T, path string, text []byte) map[int]bool {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, "`") {
			for i := files.Position(l.Pos()).Line; i <= files.Position(l.End()).Line; i++ {
				lines[i] = true
			}
		}
		return true
	})
	return lines
}

// replacedNames are identifiers of a private vocabulary. The glossary has the
// standard term for each of them.
var replacedNames = strings.Fields(`
	kin Kin Ties ties relatives kinPlace tongue hear settle bare spot Sketch sketches folder folding foldAt tidy
	grave flaw Flaw mend Mend onces Onces renewal leads standAside aside putBack freeTasks ranking turned finding
	Findings Passages passage Recent Codes Near Resemblance Kill Dead WithDead Gone Blob repairs speller reread
	rereading sideBySide searching standing scatter bring bendOf tilt lift plainShare rooms room doors waist leg
	legs patience cookied misfit protest mistake greet Trial meanings asked seeker suspicious nobody believed
	doubt aheadOf senseless misshapen aims Alike Or20 PlaceStatus Withdrew Shelf Invited Alone aimed outcome duty
	keepLogin tellBytes`)

func TestIdentifiersAreStandardTerms(t *testing.T) {
	t.Parallel()
	replaced := map[string]bool{}
	for _, name := range replacedNames {
		replaced[name] = true
	}
	declarations(t, func(where string, name *ast.Ident, _ *ast.CommentGroup) {
		if replaced[name.Name] {
			t.Errorf("%s: %s is not a term of the field: see docs/glossary.md", where, name.Name)
		}
	})
}

// articleFirst finds names of tests that begin with an article.
var articleFirst = regexp.MustCompile(`^Test(An?|The)[A-Z][a-z]`)

func TestIdentifiersOfTestsBeginWithTheirSubject(t *testing.T) {
	t.Parallel()
	declarations(t, func(where string, name *ast.Ident, _ *ast.CommentGroup) {
		if articleFirst.MatchString(name.Name) {
			t.Errorf("%s: %s begins with an article: name it Test<Subject><Does>", where, name.Name)
		}
	})
}

// vagueSubject finds sentences whose subject is a pronoun.
var vagueSubject = regexp.MustCompile(`(?:^|[.:;] )(Who|Whoever|Whom|What|Whatever|whoever|whatever)\b`)

func TestDocCommentsHaveNounsAsSubjects(t *testing.T) {
	t.Parallel()
	declarations(t, func(where string, name *ast.Ident, doc *ast.CommentGroup) {
		if doc == nil {
			return
		}
		text := strings.ReplaceAll(doc.Text(), "\n", " ")
		if found := vagueSubject.FindString(text); found != "" && !strings.Contains(text, found+"?") {
			t.Errorf("%s: the comment of %s has the subject %q: name the subject", where, name.Name,
				strings.Trim(found, ".:; "))
		}
	})
}

// declarations calls f with each package-level name, method and field.
func declarations(t *testing.T, f func(where string, name *ast.Ident, doc *ast.CommentGroup)) {
	t.Helper()
	walkSources(t, func(path string) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		report := func(doc *ast.CommentGroup, names ...*ast.Ident) {
			for _, name := range names {
				f(files.Position(name.Pos()).String(), name, doc)
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				report(d.Doc, d.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						report(either(s.Doc, d.Doc), s.Name)
						if st, ok := s.Type.(*ast.StructType); ok {
							for _, field := range st.Fields.List {
								report(either(field.Doc, field.Comment), field.Names...)
							}
						}
					case *ast.ValueSpec:
						report(either(s.Doc, d.Doc), s.Names...)
					}
				}
			}
		}
	})
}

// either returns the first comment that exists.
func either(a, b *ast.CommentGroup) *ast.CommentGroup {
	if a != nil {
		return a
	}
	return b
}
