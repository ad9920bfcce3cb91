package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

func TestADeletionIsConfirmed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if code := d.run("memory", "delete", toyID); code != 2 || d.toy.deleted != "" ||
		!strings.Contains(d.err.String(), "add --yes") {
		t.Errorf("nobody was asked: %d %q %s", code, d.toy.deleted, d.err.String())
	}
	if code := d.run("memory", "delete", toyID, "--yes"); code != 0 || d.toy.deleted != toyID {
		t.Errorf("%d %q %s", code, d.toy.deleted, d.err.String())
	}
	for line, want := range map[string]bool{"y\n": true, " YES \n": true, "\n": false, "": false, "no\n": false,
		"yess\n": false} {
		if agrees(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}

func TestTheBeginningOfAnIDStandsForIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	server := toyServer(t, d.toy)
	d.toy.pages = 1
	for _, environ := range [][]string{nil, {"LOCI_URL=" + server.URL, "LOCI_API_KEY=" + toyKey}} {
		d.environ = append([]string{"HOME=" + d.home}, environ...)
		for start, want := range map[string]string{toyID[:8]: "", toyID[:20]: "", toyID: toyID, toyID[:23]: toyID,
			strings.ToUpper(toyTwin[:35]): toyTwin} {
			d.toy.deleted = ""
			code := d.run("memory", "delete", start, "--yes")
			if d.toy.deleted != want || (code == 0) != (want != "") {
				t.Errorf("%v %s: %d, %q deleted, want %q: %s", environ, start, code, d.toy.deleted, want,
					d.err.String())
			}
			if said := d.err.String(); want == "" &&
				(!strings.Contains(said, "2 ids begin with "+start) || !strings.Contains(said, toyID+" One")) {
				t.Errorf("%v %s: %s", environ, start, said)
			}
		}
		if code := d.run("memory", "get", "01890000-1"); code != 1 ||
			!strings.Contains(d.err.String(), "No memory has an id that begins with 01890000-1") {
			t.Errorf("%v: %d %s", environ, code, d.err.String())
		}
	}
}

func TestTooShortABeginningOfAnIDNamesTheMinimum(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for start, want := range map[string]string{"0189": "at least the first 8 characters of it: 0189 has 4",
		"ABC1234": "abc1234 has 7", "nowhere": "not_found"} {
		if code := d.run("memory", "get", start); code != 1 || !strings.Contains(d.err.String(), want) {
			t.Errorf("%s: %d %s", start, code, d.err.String())
		}
	}
}

func TestAllPagesAreOneAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.toy.pages = 3
	if code := d.run("memory", "list", "--all", "--json"); code != 0 {
		t.Fatal(d.err.String())
	}
	var page loci.Memories
	if err := json.Unmarshal(d.out.Bytes(), &page); err != nil || len(page.Memories) != 6 || page.NextCursor != "" ||
		!strings.HasPrefix(d.out.String(), `{"ok":true,"memories":[`) {
		t.Errorf("%v: %s", err, d.out.String())
	}
	if code := d.run("memory", "list", "--all"); code != 0 || strings.Count(d.out.String(), "One") != 3 ||
		strings.Contains(d.err.String(), "There is more") {
		t.Errorf("%d %s %s", code, d.out.String(), d.err.String())
	}
	if code := d.run("memory", "create", "--all"); code != 2 {
		t.Errorf("a command without pages takes --all: %d", code)
	}
}

func TestIDsAreCutToWhatTellsThemApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ids, want []string }{
		{[]string{toyID, "01990000-0000-7000-8000-000000000001"}, []string{"01890000-0000", "01990000-0000"}},
		{[]string{toyID, toyTwin}, []string{toyID[:23], toyTwin[:23]}},
		{[]string{toyID, ""}, []string{toyID[:13], ""}},
	} {
		table := []*column{{name: "id", cells: append([]string{"ID"}, c.ids...)}}
		shortenIDs(table)
		if got := table[0].cells[1:]; !slices.Equal(got, c.want) {
			t.Errorf("%v become %v, want %v", c.ids, got, c.want)
		}
	}
}

func TestASearchShowsWhereAndWhat(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := &program{out: &d.out, err: &d.err, names: map[string]string{"a1": "Team/Inbox"}}
	raw := `{"ok":true,"memories":[{"id":"` + toyID + `","atlasId":"a1","title":"Basalt","score":0.9,"highlights":["the stone\nis basalt"]},` +
		`{"id":"` + toyTwin + `","atlasId":"a2","title":"Same","score":0.8,"highlights":["Same"]}],"mode":"keyword","nextCursor":"next"}`
	if err := p.show(toyTable().Op("memory.search"), []byte(raw)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(d.out.String(), "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], "ATLAS") || !strings.Contains(lines[1], "Basalt  Team/Inbox") ||
		lines[2] != "    the stone is basalt" || !strings.Contains(lines[3], "Same") {
		t.Errorf("%q", lines)
	}
	if d.err.String() != "There is more: --all, or --cursor next\n" {
		t.Errorf("%q", d.err.String())
	}
}

func TestASearchSaysWhichWordsWereCorrectedOrIgnored(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{
		`{"corrected":[{"from":"basallt","to":"basalt"},{"from":"berlim","to":"ber\u001b[31mlin"}]}`: "Corrected: basalt for basallt, ber[31mlin for berlim\n",
		`{"ignoredTerms":["a1","a2","a3","a4","a5","a6","a7","a8","a9","b1","b2","b3"]}`: "Ignored, because the query has too many words: " +
			"a1, a2, a3, a4, a5, a6, a7, a8, a9, b1, and 2 more\n",
		`{"requestedMode":"auto"}`: "",
	} {
		for list, nothing := range map[string]string{`[{"id":"` + toyID + `","title":"Basalt"}]`: "",
			`[]`: "Nothing found.\n"} {
			d := newDesk(t)
			p := &program{out: &d.out, err: &d.err}
			if err := p.show(toyTable().Op("memory.search"),
				[]byte(`{"ok":true,"memories":`+list+`,"mode":"keyword","meta":`+meta+`}`)); err != nil {
				t.Fatal(err)
			}
			if got := d.err.String(); got != nothing+want {
				t.Errorf("%s: %q, want %q", meta, got, nothing+want)
			}
			if strings.Contains(d.out.String(), "orrected") {
				t.Errorf("the table has %s", d.out.String())
			}
		}
	}
}

func TestSimilarMemoriesHaveTitles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	host, call := d.toy.host(), toyTable().Op("memory.create")
	p := &program{out: &d.out, err: &d.err, parts: d.parts}
	for raw, want := range map[string]string{
		`{"ok":true,"memory":{"id":"` + toyTwin + `","similar":[{"id":"` + toyID + `","score":0.9},{"id":"gone","score":0.8}]}}`: `similar  "Rock" (` + toyID + `, 0.9), gone (0.8)`,
		`{"ok":true,"similar":[{"id":"` + toyID + `","score":0.9}]}`: toyID +
			"  0.9    Rock",
	} {
		d.out.Reset()
		p.names = p.similarTitles(t.Context(), host, []byte(raw))
		if err := p.show(call, []byte(raw)); err != nil || !strings.Contains(d.out.String(), want) {
			t.Errorf("%v: %s, want %s", err, d.out.String(), want)
		}
	}
}

func TestAListOfSeveralWorkspacesNamesThem(t *testing.T) {
	t.Parallel()
	record := func(id, name, workspace string) string {
		return `{"id":"` + id + `","workspaceId":"` + workspace + `","name":"` + name + `"}`
	}
	for _, c := range []struct{ list, want string }{
		{record(toyID, "Inbox", toyID) + "," + record(toyTwin, "Inbox", toyTwin),
			"ID NAME WORKSPACE " + toyID + " Inbox Team " + toyTwin + " Inbox 01890000-0000"},
		{record(toyID, "Inbox", toyID) + "," + record(toyTwin, "Plans", toyID),
			"ID NAME " + toyID + " Inbox " + toyTwin + " Plans"},
	} {
		d := newDesk(t)
		p := &program{out: &d.out, err: &d.err, names: map[string]string{toyID: "Team"}}
		if err := p.show(toyTable().Op("memory.list"), []byte(`{"ok":true,"atlases":[`+c.list+`]}`)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(d.out.String()), " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestASuggestionIsTheNearest(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for want, line := range map[string]string{
		`did you mean "list"?`:                    "memory lst",
		`did you mean "memory"?`:                  "mem list",
		`did you mean "--content"?`:               "memory create --contents x",
		`unknown flag "--zzzzzz" for "loci memor`: "memory create --zzzzzz",
		`did you mean --content "hello"?`:         "memory create hello",
		`--content "...", or --content - to read`: "memory create",
		`unknown command "auth"`:                  "auth --help",
		`does not take --json`:                    "serve --json",
	} {
		if code := d.run(strings.Fields(line)...); code != 2 || !strings.Contains(d.err.String(), want) ||
			d.out.Len() > 0 {
			t.Errorf("%s: %d %s%s, want %s", line, code, d.out.String(), d.err.String(), want)
		}
	}
}

func TestAMissingKeyIsToldInWordsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	server := toyServer(t, d.toy)
	d.environ = append(d.environ, "LOCI_URL="+server.URL)
	if code := d.run("memory", "list"); code != 1 || !strings.Contains(d.err.String(), "loci login "+server.URL) ||
		strings.Contains(d.err.String(), "Authorization") {
		t.Errorf("%d %s", code, d.err.String())
	}
	server.Close()
	if code := d.run("memory", "create", "--content", "x", "--server", server.URL); code != 1 ||
		!strings.Contains(d.err.String(), "--local") {
		t.Errorf("%d %s", code, d.err.String())
	}
}

func TestTheEntityTagIsPrintedForIfMatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	server := toyServer(t, d.toy)
	var tags []string
	for _, environ := range [][]string{nil, {"LOCI_URL=" + server.URL, "LOCI_API_KEY=" + toyKey}} {
		d.environ = append([]string{"HOME=" + d.home}, environ...)
		if code := d.run("memory", "get", toyID); code != 0 {
			t.Fatal(d.err.String())
		}
		_, rest, found := strings.Cut(d.out.String(), "\netag ")
		tag, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		if !found || len(tag) != 13 {
			t.Errorf("%v: no entity tag: %s", environ, d.out.String())
		}
		tags = append(tags, tag)
		if code := d.run("atlas", "update", toyID, "--name", "N", "--if-match", strings.Trim(tag, `"`)); code != 0 ||
			d.toy.who.IfMatch != tag {
			t.Errorf("%v: %d %s %s", environ, code, d.toy.who.IfMatch, d.err.String())
		}
	}
	if tags[0] != tags[1] {
		t.Errorf("%v", tags)
	}
}

func TestVersionNamesTheProgramAndTheContract(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var b build
	if code := d.run("version", "--json"); code != 0 || json.Unmarshal(d.out.Bytes(), &b) != nil || b.Version == "" ||
		b.Contract != "0.8.3" {
		t.Errorf("%d %s", code, d.out.String())
	}
	for _, line := range []string{"version", "--version", "-v"} {
		if code := d.run(line); code != 0 || !strings.HasPrefix(d.out.String(),
			fmt.Sprintf("loci %s (contract %s), ", b.Version, b.Contract)) {
			t.Errorf("%s: %d %s", line, code, d.out.String())
		}
	}
}
