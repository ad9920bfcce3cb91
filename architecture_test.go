package loci_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/loci-memory/loci"

// allowedImports lists each package and the packages of the module that it may import. A new arrow is a decision.
var allowedImports = map[string][]string{
	"":                               {"internal/uuid"},
	"client":                         {"", "internal/contextio", "internal/retryafter"},
	"client/generate":                {"", "internal/op", "internal/service"},
	"cmd/loci":                       {"internal/cli"},
	"internal/op":                    {"", "internal/identity", "internal/secret", "internal/strictjson"},
	"internal/strictjson":            {},
	"internal/quickselect":           {},
	"internal/analysis":              {},
	"internal/analysis/analysistest": {},
	"internal/dates":                 {"internal/analysis"},
	"internal/minhash":               {"internal/analysis"},
	"internal/vector":                {"internal/analysis", "internal/cache", "internal/quickselect"},
	"internal/index":                 {"internal/analysis", "internal/cache"},
	"internal/index/indextest":       {"internal/analysis", "internal/index"},
	"internal/query": {"internal/analysis", "internal/dates", "internal/index",
		"internal/quickselect"},
	"internal/identity":      {""},
	"internal/secret":        {"", "internal/title"},
	"internal/title":         {""},
	"internal/fence":         {},
	"internal/pathglob":      {},
	"internal/retryafter":    {},
	"internal/uuid":          {},
	"internal/capture":       {"", "internal/fence", "internal/secret"},
	"internal/capture/spool": {"", "internal/capture"},
	"internal/capture/delivery": {"", "internal/capture", "internal/capture/spool", "internal/contextio",
		"internal/op", "internal/pathglob", "internal/service"},
	"internal/capture/acp":         {"", "internal/capture"},
	"internal/capture/relay":       {},
	"internal/extract":             {""},
	"internal/extract/extracttest": {"internal/extract"},
	"internal/extract/llm":         {"", "internal/extract", "internal/openai"},
	"internal/openai":              {"internal/retryafter"},
	"internal/embed": {"internal/contextio", "internal/embed/kernel", "internal/embed/model",
		"internal/openai"},
	"internal/embed/kernel":      {},
	"internal/embed/model":       {},
	"internal/embed/make":        {"internal/embed", "internal/embed/model"},
	"internal/secret/secrettest": {"internal/secret"},
	"internal/relevance":         {"", "client", "internal/contextio"},
	"internal/job":               {},
	"internal/cache":             {},
	"internal/atomicfile":        {},
	"internal/blob":              {"", "internal/atomicfile", "internal/contextio", "internal/disk"},
	"internal/contextio":         {},
	"internal/disk":              {},
	"internal/filetoken":         {"", "internal/identity"},
	"internal/sqldb":             {""},
	"internal/sqldb/upgrade":     {"", "internal/sqldb"},
	"internal/sqldb/sqlite":      {"", "internal/disk", "internal/limit", "internal/sqldb", "internal/sqldb/upgrade"},
	"internal/sqldb/postgres":    {"", "internal/limit", "internal/sqldb", "internal/sqldb/upgrade"},
	"internal/sqldb/scratch":     {"", "internal/sqldb/postgres"},
	"internal/store/indexdb": {"", "internal/analysis", "internal/cache", "internal/index", "internal/job",
		"internal/sqldb", "internal/store/record", "internal/title"},
	"internal/store/accountdb": {"", "internal/identity", "internal/sqldb"},
	"internal/store/grantdb": {"", "internal/identity", "internal/page", "internal/sqldb", "internal/store/accountdb",
		"internal/store/seal"},
	"internal/store/jobdb":   {"", "internal/job", "internal/sqldb"},
	"internal/mail":          {""},
	"internal/mail/mailtest": {"internal/waittest"},
	"internal/store/erasedb": {"", "internal/contextio", "internal/minhash", "internal/sqldb", "internal/store/indexdb",
		"internal/store/internal/scope", "internal/store/jobdb", "internal/store/memorydb",
		"internal/store/messagedb",
		"internal/store/minhashdb", "internal/store/sessiondb"},
	"internal/store/attachmentdb": {"", "internal/sqldb", "internal/store/internal/scope", "internal/store/memorydb"},
	"internal/store/embeddb": {"", "internal/cache", "internal/contextio", "internal/job", "internal/sqldb",
		"internal/vector"},
	"internal/page": {""},
	"internal/store/internal/scope": {"", "internal/analysis", "internal/cache", "internal/identity",
		"internal/limit", "internal/page", "internal/sqldb",
		"internal/store/accountdb", "internal/store/embeddb", "internal/store/indexdb", "internal/store/jobdb",
		"internal/store/seal"},
	"internal/store/memorydb": {"", "internal/analysis", "internal/index", "internal/minhash", "internal/page",
		"internal/sqldb",
		"internal/store/embeddb", "internal/store/indexdb",
		"internal/store/internal/scope",
		"internal/store/jobdb", "internal/store/minhashdb", "internal/store/record", "internal/title",
		"internal/vector"},
	"internal/store": {"", "internal/analysis", "internal/cache", "internal/identity", "internal/page",
		"internal/sqldb", "internal/sqldb/postgres", "internal/sqldb/sqlite", "internal/store/accountdb",
		"internal/store/attachmentdb", "internal/store/embeddb", "internal/store/erasedb", "internal/store/grantdb",
		"internal/store/indexdb",
		"internal/store/internal/scope", "internal/store/jobdb", "internal/store/messagedb",
		"internal/store/sessiondb",
		"internal/vector"},
	"internal/store/record":    {},
	"internal/store/minhashdb": {"internal/minhash", "internal/sqldb"},
	"internal/store/sessiondb": {"", "internal/identity", "internal/page", "internal/sqldb", "internal/store/accountdb",
		"internal/store/internal/scope", "internal/store/memorydb", "internal/title"},
	"internal/store/messagedb": {"", "internal/page", "internal/sqldb", "internal/store/accountdb",
		"internal/store/internal/scope"},
	"internal/store/seal": {},
	"internal/retrieve": {"", "internal/cache", "internal/dates", "internal/index", "internal/page", "internal/query",
		"internal/quickselect", "internal/store/indexdb", "internal/vector"},
	"internal/store/integrity": {"", "internal/analysis", "internal/index", "internal/minhash", "internal/secret",
		"internal/sqldb", "internal/sqldb/sqlite", "internal/store", "internal/store/accountdb",
		"internal/store/attachmentdb", "internal/store/embeddb", "internal/store/erasedb", "internal/store/indexdb",
		"internal/store/memorydb", "internal/store/messagedb", "internal/store/minhashdb", "internal/store/purge",
		"internal/store/sessiondb", "internal/title"},
	"internal/store/purge": {"", "internal/index", "internal/sqldb", "internal/store", "internal/store/accountdb",
		"internal/store/erasedb", "internal/store/indexdb", "internal/store/internal/scope", "internal/store/jobdb",
		"internal/store/memorydb", "internal/store/messagedb", "internal/store/sessiondb"},
	"internal/dispatch": {"", "internal/cache", "internal/contextio", "internal/op",
		"internal/store/messagedb"},
	"internal/limit":          {"", "internal/cache"},
	"internal/password":       {"", "internal/limit"},
	"internal/service/cursor": {"", "internal/identity", "internal/page", "internal/store"},
	"internal/service/file": {"", "internal/blob", "internal/filetoken", "internal/identity", "internal/limit",
		"internal/store", "internal/store/attachmentdb", "internal/store/jobdb", "internal/store/memorydb"},
	"internal/service/message": {"", "internal/dispatch", "internal/identity", "internal/page", "internal/secret",
		"internal/service/cursor", "internal/store", "internal/store/accountdb", "internal/store/messagedb"},
	"internal/service/session": {"", "internal/extract", "internal/fence", "internal/identity", "internal/page",
		"internal/pathglob", "internal/secret", "internal/service/cursor", "internal/store",
		"internal/store/accountdb",
		"internal/store/jobdb", "internal/store/memorydb", "internal/store/sessiondb", "internal/title"},
	"internal/service": {"", "internal/analysis", "internal/blob", "internal/extract", "internal/fence",
		"internal/identity", "internal/limit", "internal/mail", "internal/op", "internal/page", "internal/password",
		"internal/retrieve", "internal/secret", "internal/service/cursor", "internal/service/file",
		"internal/service/message", "internal/service/session", "internal/store", "internal/store/accountdb",
		"internal/store/attachmentdb", "internal/store/jobdb", "internal/store/memorydb", "internal/title",
		"internal/vector"},
	"internal/files": {"", "internal/blob", "internal/httpapi", "internal/limit", "internal/service/file"},
	"internal/auth": {"", "internal/cache", "internal/filetoken", "internal/identity", "internal/limit",
		"internal/op", "internal/store", "internal/store/accountdb", "internal/store/grantdb"},
	"internal/httpapi":   {"", "internal/identity", "internal/limit", "internal/op"},
	"internal/web":       {"", "internal/httpapi", "internal/op", "internal/web/style"},
	"internal/web/style": {},
	// The console: each group of pages is a package over the door.
	"internal/web/console":   {"internal/web/approvals", "internal/web/memories"},
	"internal/web/approvals": {"", "internal/op", "internal/web", "internal/web/markdown"},
	"internal/web/memories":  {"", "internal/op", "internal/web", "internal/web/markdown"},
	"internal/web/markdown":  {},
	"internal/oauth": {"", "internal/cache", "internal/httpapi", "internal/limit", "internal/op", "internal/secret",
		"internal/store", "internal/store/grantdb", "internal/strictjson"},
	"internal/rest": {"", "internal/httpapi", "internal/op", "internal/strictjson"},
	"internal/mcp": {"", "internal/fence", "internal/httpapi", "internal/identity", "internal/limit", "internal/op",
		"internal/resolve", "internal/strictjson"},
	"internal/resolve": {"", "internal/op", "internal/strictjson"},
	"internal/server": {"", "internal/atomicfile", "internal/auth", "internal/blob", "internal/cache",
		"internal/contextio", "internal/dispatch", "internal/embed",
		"internal/extract", "internal/extract/llm", "internal/files", "internal/filetoken", "internal/httpapi",
		"internal/identity", "internal/job", "internal/limit", "internal/mail", "internal/mcp", "internal/oauth",
		"internal/op", "internal/openai",
		"internal/rest", "internal/server/backup", "internal/server/filemove", "internal/server/serverlog",
		"internal/server/listen", "internal/service", "internal/service/file", "internal/sqldb",
		"internal/sqldb/postgres", "internal/sqldb/scratch", "internal/sqldb/sqlite", "internal/store",
		"internal/store/attachmentdb", "internal/store/indexdb", "internal/store/integrity",
		"internal/store/messagedb",
		"internal/store/pairdb", "internal/store/purge", "internal/store/sessiondb", "internal/vector", "internal/web",
		"internal/web/console"},
	"internal/doctor": {"", "internal/blob", "internal/disk", "internal/httpapi", "internal/server",
		"internal/server/backup", "internal/server/listen", "internal/sqldb/postgres", "internal/sqldb/sqlite"},
	"internal/setup": {"", "internal/atomicfile"},
	"internal/server/backup": {"", "internal/atomicfile", "internal/blob", "internal/contextio", "internal/sqldb",
		"internal/sqldb/sqlite"},
	"internal/server/filemove": {"", "internal/blob", "internal/contextio", "internal/sqldb",
		"internal/store/attachmentdb"},
	"internal/server/serverlog": {"", "internal/limit"},
	"internal/server/listen":    {"", "internal/httpapi", "internal/limit"},
	"internal/cli": {"", "client", "internal/capture/acp", "internal/capture/relay", "internal/capture/spool",
		"internal/cli/admin", "internal/cli/attachment", "internal/cli/bench", "internal/cli/command",
		"internal/cli/console",
		"internal/cli/complete", "internal/cli/edit", "internal/cli/format", "internal/cli/help",
		"internal/cli/hook", "internal/cli/listen", "internal/cli/opflags", "internal/cli/output",
		"internal/cli/profile", "internal/cli/records", "internal/cli/review", "internal/cli/setup",
		"internal/cli/transfer", "internal/cli/version", "internal/embed", "internal/httpapi", "internal/mcp",
		"internal/oauthclient", "internal/op", "internal/replica", "internal/server",
		"internal/service"},
	"internal/cli/attachment": {"", "client", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/cli/output", "internal/cli/records", "internal/contextio", "internal/op", "internal/resolve"},
	"internal/cli/transfer": {"", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/op",
		"internal/replica", "internal/store/pairdb"},
	"internal/replica": {"", "internal/contextio", "internal/op", "internal/resolve", "internal/secret",
		"internal/service",
		"internal/store/pairdb"},
	"internal/store/pairdb": {"", "internal/sqldb"},
	"internal/cli/admin": {"", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/cli/output", "internal/doctor", "internal/resolve", "internal/server",
		"internal/server/backup", "internal/server/filemove"},
	"internal/cli/bench": {"", "client", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/cli/version", "internal/relevance", "internal/server"},
	"internal/cli/version": {"internal/cli/command", "internal/cli/console", "internal/server"},
	"internal/cli/command": {"internal/op"},
	"internal/cli/help":    {"internal/cli/command", "internal/cli/format"},
	"internal/cli/hook": {"", "internal/capture", "internal/capture/delivery", "internal/capture/spool",
		"internal/cli/command", "internal/cli/console", "internal/contextio", "internal/op"},
	"internal/cli/listen": {"", "client", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/op"},
	"internal/cli/setup": {"", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/setup"},
	"internal/cli/console": {"", "internal/cli/command", "internal/cli/format", "internal/contextio", "internal/op"},
	"internal/cli/complete": {"", "internal/atomicfile", "internal/cli/format", "internal/cli/records", "internal/op",
		"internal/resolve"},
	"internal/cli/edit": {"", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/cli/output", "internal/cli/records", "internal/op", "internal/setup"},
	"internal/cli/review": {"", "internal/cli/command", "internal/cli/console", "internal/cli/edit",
		"internal/cli/format", "internal/cli/opflags", "internal/cli/output", "internal/cli/records", "internal/op",
		"internal/title"},
	"internal/cli/format":  {},
	"internal/cli/opflags": {"", "internal/cli/command", "internal/cli/format", "internal/op", "internal/resolve"},
	"internal/cli/output": {"", "internal/cli/command", "internal/cli/console", "internal/cli/format",
		"internal/cli/records", "internal/op", "internal/strictjson"},
	"internal/cli/profile": {"", "internal/atomicfile", "internal/oauthclient"},
	"internal/cli/records": {"", "internal/cli/format", "internal/op", "internal/resolve", "internal/strictjson"},
	"internal/store/storetest": {"", "internal/identity", "internal/page", "internal/query", "internal/retrieve",
		"internal/sqldb", "internal/sqldb/postgres", "internal/sqldb/sqlite", "internal/store",
		"internal/store/accountdb", "internal/store/embeddb", "internal/store/grantdb", "internal/store/integrity",
		"internal/store/memorydb", "internal/testenv", "internal/title"},
	"internal/blob/blobtest":         {"internal/testenv"},
	"internal/testenv":               {},
	"internal/relevance/datasettest": {"internal/relevance"},
	"internal/logtest":               {},
	"internal/waittest":              {},
	"internal/oauthclient":           {"", "internal/contextio", "internal/retryafter", "internal/web/style"},
	"internal/oauthclient/oauthtest": {},
	"internal/conformance": {"", "internal/auth", "internal/blob", "internal/filetoken", "internal/identity",
		"internal/mail", "internal/op", "internal/service", "internal/store", "internal/store/storetest",
		"internal/testenv", "internal/vector"},
	"bench": {"", "internal/analysis", "internal/index", "internal/relevance", "internal/rest", "internal/sqldb",
		"internal/store", "internal/vector"},
	"bench/floor": {""},
}

// testOnly are packages that only tests import.
var testOnly = []string{"internal/analysis/analysistest", "internal/index/indextest", "internal/store/storetest",
	"internal/relevance/datasettest", "internal/logtest", "internal/waittest", "internal/mail/mailtest",
	"internal/conformance", "internal/secret/secrettest", "internal/oauthclient/oauthtest", "internal/blob/blobtest",
	"internal/testenv"}

// A listedPackage is a package in the output of go list.
type listedPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Standard   bool
}

func (p listedPackage) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// listPackages returns the packages of the module.
func listPackages(t *testing.T) (all []listedPackage) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		allowed, known := allowedImports[p.path()]
		if !known {
			t.Errorf("%s is a package without a line in the table", p.path())
		}
		for _, i := range p.Imports {
			to, internal := strings.CutPrefix(i, module)
			to = strings.TrimPrefix(to, "/")
			if internal && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %q: the table does not allow it", p.path(), to)
			}
			if slices.Contains(testOnly, to) && !slices.Contains(testOnly, p.path()) {
				t.Errorf("%s is for tests, and %s imports it", to, p.path())
			}
		}
	}
}

// Third-party packages are imported by as few packages as possible.
func TestThirdPartyImportsStayInTheirPackages(t *testing.T) {
	t.Parallel()
	drivers := regexp.MustCompile(
		`^(database/sql|modernc\.org/sqlite|github\.com/(mattn/go-sqlite3|jackc/pgx|pressly/goose))`)
	http := []string{"client", "internal/blob", "internal/cli", "internal/doctor", "internal/files", "internal/httpapi",
		"internal/mcp", "internal/oauth",
		"internal/oauthclient", "internal/oauthclient/oauthtest", "internal/openai", "internal/rest",
		"internal/server", "internal/server/listen", "internal/testenv", "internal/web"}
	for _, p := range listPackages(t) {
		pkg := p.path()
		for _, i := range p.Imports {
			first, _, _ := strings.Cut(i, "/")
			foreign := strings.Contains(first, ".") && !strings.HasPrefix(i, module)
			switch {
			case foreign && (pkg == "" || pkg == "client"):
				t.Errorf("%s imports %s: public packages import only the standard library", pkg, i)
			case drivers.MatchString(i) && !strings.HasPrefix(pkg, "internal/sqldb") &&
				!strings.HasPrefix(pkg, "internal/store") && !strings.HasPrefix(pkg, "bench"):
				t.Errorf("%s imports %s: only the store uses databases", pkg, i)
			case i == "net/http" && !slices.Contains(http, pkg) && !strings.HasPrefix(pkg, "bench"):
				t.Errorf("%s imports net/http: only transports and clients do", pkg)
			}
		}
	}
}

// walkSources calls f with every Go file of the project.
func walkSources(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			f(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	const most = 600
	walkSources(t, func(path string) {
		if lines, isGenerated := countLines(t, path); lines > most && !isGenerated {
			t.Errorf("%s has %d lines: at most %d are allowed", path, lines, most)
		}
	})
}

// countLines counts the lines of a file, and reports whether a program wrote it.
func countLines(t *testing.T, path string) (lines int, isGenerated bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		isGenerated = isGenerated || lines < 3 && strings.HasPrefix(s.Text(), "// Code generated ")
	}
	return lines, isGenerated
}

// A packageSize counts files and lines of a package, without tests and generated files.
type packageSize struct{ files, lines int }

// largePackages are the packages above the limit. The root stays: it is the vocabulary of the public API, whose types
// have one import path. It grows with the API alone.
var largePackages = map[string]packageSize{
	".": {20, 3600},
}

// TestPackagesAreSmall keeps a package readable in one sitting: at most 20 files and 3,000 lines.
func TestPackagesAreSmall(t *testing.T) {
	t.Parallel()
	sizes := map[string]packageSize{}
	walkSources(t, func(path string) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || dir == "bench" || strings.HasPrefix(dir, "bench/") {
			return
		}
		if lines, isGenerated := countLines(t, path); !isGenerated {
			sizes[dir] = packageSize{sizes[dir].files + 1, sizes[dir].lines + lines}
		}
	})
	for dir, size := range sizes {
		most, isLarge := largePackages[dir]
		if !isLarge {
			most = packageSize{20, 3000}
		}
		if size.files > most.files || size.lines > most.lines {
			t.Errorf("%s has %d files and %d lines: at most %d and %d are allowed", dir, size.files, size.lines,
				most.files, most.lines)
		}
		if isLarge && size.files <= 20 && size.lines <= 3000 {
			t.Errorf("%s is within the limit: remove it from largePackages", dir)
		}
	}
}

func TestOnlyTheStoreSpeaksSQL(t *testing.T) {
	t.Parallel()
	sql := regexp.MustCompile(
		`(?i)\b(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)\b`)
	walkSources(t, func(path string) {
		if strings.HasPrefix(path, "internal/sqldb/") || strings.HasPrefix(path, "internal/store/") ||
			strings.HasPrefix(path, "bench/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && sql.MatchString(text) {
					t.Errorf("%s says %.80q: only the store speaks SQL", path, text)
				}
			}
			return true
		})
	})
}
