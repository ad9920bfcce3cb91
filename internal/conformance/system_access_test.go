package conformance_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// A call without an actor sees every tenant. Each such call has a reason, and a new one changes the golden list.
func TestSystemCallsAreInTheGoldenList(t *testing.T) {
	t.Parallel()
	var lines []string
	testenv.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (strings.HasPrefix(name, ".") && name != ".." || name == "node_modules" ||
			name == "bench" || name == "conformance" || name == "storetest") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			lines = append(lines, systemCalls(t, path)...)
		}
		return nil
	}))
	slices.Sort(lines)
	golden(t, "testdata/system.golden", []byte(strings.Join(lines, "")))
}

// systemCalls lists the calls of System and SystemRead in a file, by package and function.
func systemCalls(t *testing.T, path string) (lines []string) {
	t.Helper()
	file := testenv.Must(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))(t)
	pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if name := systemFunc(pkg, call.Fun); name != "" {
					lines = append(lines, fmt.Sprintf("%-10s %-18s %-10s %s\n", filepath.Base(pkg), f.Name.Name, name,
						reason(t, call)))
				}
			}
			return true
		})
	}
	return lines
}

// systemFunc returns System or SystemRead where a call is one of store or sqldb.
func systemFunc(pkg string, fun ast.Expr) string {
	if i, ok := fun.(*ast.IndexListExpr); ok {
		fun = i.X
	}
	name := ""
	switch f := fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && (x.Name == "store" || x.Name == "sqldb") {
			name = f.Sel.Name
		}
	case *ast.Ident:
		if pkg == "internal/store" {
			name = f.Name
		}
	}
	if name == "System" || name == "SystemRead" {
		return name
	}
	return ""
}

// reason returns the third argument: a text, or the name of the parameter with the text.
func reason(t *testing.T, call *ast.CallExpr) string {
	t.Helper()
	if l, ok := call.Args[2].(*ast.BasicLit); ok {
		text, err := strconv.Unquote(l.Value)
		if err != nil || len(bytes.TrimSpace([]byte(text))) < 5 {
			t.Errorf("%q is no reason", text)
		}
		return text
	}
	if i, ok := call.Args[2].(*ast.Ident); ok {
		return "(" + i.Name + ")"
	}
	t.Errorf("a reason is a text that can be read in the source")
	return ""
}
