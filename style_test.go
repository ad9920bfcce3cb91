package loci_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

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
