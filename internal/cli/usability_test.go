package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestIDPrefixIsExpanded(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	d.service.pages = 1
	for _, environ := range [][]string{nil, {"LOCI_URL=" + server.URL, "LOCI_API_KEY=" + fakeKey}} {
		d.Environ = append([]string{"HOME=" + d.home}, environ...)
		for start, want := range map[string]string{fakeID[:8]: "", fakeID[:20]: "", fakeID: fakeID, fakeID[:23]: fakeID,
			strings.ToUpper(fakeTwinID[:35]): fakeTwinID} {
			d.service.deleted = ""
			code := d.run("memory", "delete", start, "--yes")
			if d.service.deleted != want || (code == 0) != (want != "") {
				t.Errorf("%v %s: %d, %q deleted, want %q: %s", environ, start, code, d.service.deleted, want,
					d.err.String())
			}
			if said := d.err.String(); want == "" &&
				(!strings.Contains(said, "2 memory records answer to ") || !strings.Contains(said, fakeID+` "One"`)) {
				t.Errorf("%v %s: %s", environ, start, said)
			}
		}
		d.expectRun(t, 1, "No memory has an id that begins or ends with 01890000-1", "memory", "get", "01890000-1")
	}
}

func TestIDPrefixErrorNamesMinimumLength(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for start, want := range map[string]string{
		"0189":    `at least the first or last 8 characters of it: "0189" is too short`,
		"ABC1234": `"ABC1234" is too short`,
		"nowhere": `No memory has the id "nowhere": loci memory list shows the ids (not_found)`} {
		d.expectRun(t, 1, want, "memory", "get", start)
	}
}

func TestAllFlagJoinsPages(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.service.pages = 3
	d.expectRun(t, 0, "", "memory", "list", "--all", "--json")
	var page loci.Memories
	if err := json.Unmarshal(d.out.Bytes(), &page); err != nil || len(page.Memories) != 6 || page.NextCursor != "" ||
		!strings.HasPrefix(d.out.String(), `{"ok":true,"memories":[`) {
		t.Errorf("%v: %s", err, d.out.String())
	}
	if code := d.run("memory", "list", "--all"); code != 0 || strings.Count(d.out.String(), "One") != 3 ||
		strings.Contains(d.err.String(), "There is more") {
		t.Errorf("%d %s %s", code, d.out.String(), d.err.String())
	}
	d.expectRun(t, 2, "", "memory", "create", "--all")
}

func TestSimilarShowsTitles(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	similarOp := newFakeOp[loci.SimilarMemories, loci.Similar]("memory.similar")
	p := &output.Printer{Console: &console.Console{Out: &d.out, Err: &d.err}}
	for raw, want := range map[string]string{
		`{"ok":true,"memory":{"id":"` + fakeTwinID + `","similar":[{"id":"` + fakeID +
			`","score":0.9,"title":"Rock"},{"id":"gone","score":0.8}]}}`: `similar  "Rock" (` + fakeID + `, 0.9), gone (0.8)`,
		`{"ok":true,"similar":[{"id":"` + fakeID + `","score":0.9,"title":"Rock"}]}`: fakeID +
			"  0.9    Rock",
	} {
		d.out.Reset()
		if err := p.Print(similarOp, []byte(raw)); err != nil || !strings.Contains(d.out.String(), want) {
			t.Errorf("%v: %s, want %s", err, d.out.String(), want)
		}
	}
}

func TestUnknownNameSuggestsNearest(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for want, line := range map[string]string{
		`did you mean "list"?`:                    "memory lst",
		`did you mean "memory"?`:                  "mem list",
		`did you mean "--content"?`:               "memory create --contents x",
		`flag needs an argument: --limit`:         "memory list --limit",
		`unknown flag "--zzzzzz" for "loci memor`: "memory create --zzzzzz",
		`--content "...", or --content - to read`: "memory create",
		`unknown command "auth"`:                  "auth --help",
		`did you mean "loci memory search"?`:      "search x",
		`did you mean "loci account me"?`:         "me",
		`did you mean "loci memory create"?`:      "create",
		`did you mean "loci help memory create"?`: "memory help create",
		`unknown command "foo" for "loci memory"`: "memory --help foo",
		`does not take --json`:                    "serve --json",
	} {
		if code := d.run(strings.Fields(line)...); code != 2 || !strings.Contains(d.err.String(), want) ||
			d.out.Len() > 0 {
			t.Errorf("%s: %d %s%s, want %s", line, code, d.out.String(), d.err.String(), want)
		}
	}
}

func TestWrongArgumentsErrorTellsTheRightOnes(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for line, want := range map[string]string{
		"login": "loci: <url> is required: for example loci login https://loci.example.org\n" +
			"Try loci login --help.\n",
		"memory get": "loci: <memory-id> is required: for example loci memory get " +
			"3f9c2a7b\nTry loci memory get --help.\n",
		"memory search a b": "\"loci memory search\" takes only <query>, but got \"b\" too: put a text with spaces " +
			"between quotation marks\n",
		"version x":                   "\"loci version\" takes no arguments, but got \"x\"\n",
		"admin user show":             "--email is required: for example loci admin user show --email ada@example.org",
		"admin backup restore":        "loci: FILE is required: for example loci admin backup restore ",
		"invitation create":           "<workspace-id> is required: for example loci invitation create Crew",
		"invitation create " + fakeID: "emails is required: for example loci invitation create Crew",
		"atlas nosuch --yes":          "unknown command \"nosuch\" for \"loci atlas\"\nTry loci atlas --help.\n",
		"admin backup a.tar --nope":   "unknown flag \"--nope\" for \"loci admin backup\"",
	} {
		d.expectRun(t, 2, want, strings.Fields(line)...)
	}
}

func TestMissingKeyErrorNamesLoginCommand(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	d.Environ = append(d.Environ, "LOCI_URL="+server.URL)
	if code := d.run("memory", "list"); code != 1 || !strings.Contains(d.err.String(), "loci login "+server.URL) ||
		strings.Contains(d.err.String(), "Authorization") {
		t.Errorf("%d %s", code, d.err.String())
	}
	server.Close()
	d.expectRun(t, 1, "--local", "memory", "create", "--content", "x", "--server", server.URL)
}

// TestHintsOfferLocalWhereItWorks checks the hints for a server that does not answer, and for a key without a server.
func TestHintsOfferLocalWhereItWorks(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	op.Add(d.table, "grant.list", "GET /v1/grants", "List.", op.Person, op.NoTool, (*fakeService).Me, op.ServerOnly)
	for line, works := range map[string]bool{"memory list": true, "grant list": false, "push": false, "pull": false} {
		for environ, want := range map[string]string{"LOCI_URL=http://127.0.0.1:1": "start it",
			"LOCI_UNUSED=": "set LOCI_URL"} {
			d.Environ = []string{"HOME=" + d.home, "LOCI_API_KEY=" + fakeKey, environ}
			code := d.run(strings.Fields(line)...)
			if text := d.err.String(); code != 1 || !strings.Contains(text, want) ||
				strings.Contains(text, "--local") != works {
				t.Errorf("%s: %d %s", line, code, text)
			}
		}
	}
}

func TestGetPrintsETagForIfMatch(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	var tags []string
	for _, environ := range [][]string{nil, {"LOCI_URL=" + server.URL, "LOCI_API_KEY=" + fakeKey}} {
		d.Environ = append([]string{"HOME=" + d.home}, environ...)
		d.expectRun(t, 0, "", "memory", "get", fakeID)
		_, rest, found := strings.Cut(d.out.String(), "\netag ")
		tag, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		if !found || len(tag) != 13 {
			t.Errorf("%v: no entity tag: %s", environ, d.out.String())
		}
		tags = append(tags, tag)
		if code := d.run("atlas", "update", fakeID, "--name", "N", "--if-match", strings.Trim(tag, `"`)); code != 0 ||
			d.service.actor.IfMatch != tag {
			t.Errorf("%v: %d %s %s", environ, code, d.service.actor.IfMatch, d.err.String())
		}
	}
	testenv.Equal(t, tags[0], tags[1])
}

func TestContractVariantOmitsCommands(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t, "LOCI_CONTRACT=b")
	if code := d.run("memory", "delete", fakeID, "--yes"); code != 2 || d.service.deleted != "" {
		t.Errorf("%d %q %s", code, d.service.deleted, d.err.String())
	}
	d.expectRun(t, 0, "", "memory", "get", fakeID)
	d = newTestTerminal(t, "LOCI_CONTRACT=c")
	for _, line := range []string{"memory list", "mcp", "doctor"} {
		if code := d.run(strings.Fields(line)...); code != 1 || d.openCount != 0 ||
			!strings.Contains(d.err.String()+d.out.String(), "LOCI_CONTRACT must be one of full, a, b") {
			t.Errorf("%s: %d %s%s", line, code, d.out.String(), d.err.String())
		}
	}
}

func TestErrorNamesVariantOfServer(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":"not_found","code":"not_found","message":"There is no such route: x."}`)
	}))
	defer server.Close()
	d.Environ = append(d.Environ, "LOCI_URL="+server.URL, "LOCI_API_KEY="+fakeKey)
	d.expectRun(t, 1, "LOCI_CONTRACT", "memory", "delete", fakeID, "--yes")
}
