package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestFlagsFillInput(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "", "memory", "create", "--content", "x", "--tags", "a,b", "--tags", "c", "--workspace-id", "w",
		"--source-name", "n", "--source-position", "-3", "--on-duplicate", "return", "--idempotency-key", "k",
		"--agent")
	three := int64(-3)
	want := loci.CreateMemory{Content: "x", Tags: loci.Tags{"a", "b", "c"}, WorkspaceID: "w",
		Source: &loci.Source{Name: "n", Position: &three}, OnDuplicate: "return"}
	if !reflect.DeepEqual(d.service.create, want) {
		t.Errorf("%+v", d.service.create)
	}
	if d.service.actor.Idempotency == nil || d.service.actor.Idempotency.Key != "k" || d.service.actor.AgentID == "" ||
		len(d.service.actor.RequestID) != 36 {
		t.Errorf("the call: %+v", d.service.actor)
	}
}

func TestQueryAndIDsArePositional(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "", "memory", "search", "two words", "--atlas-id", "a", "--type", "fact,note", "--limit", "5")
	want := loci.SearchMemories{Query: "two words", Paging: loci.Paging{Limit: 5},
		MemoryFilter: loci.MemoryFilter{AtlasID: "a", Type: []loci.MemoryType{"fact", "note"}}}
	if !reflect.DeepEqual(d.service.search, want) {
		t.Errorf("%+v", d.service.search)
	}
	d.expectRun(t, 0, "", "invitation", "create", "w1", "--emails", "a@b.c,d@e.f",
		"--expires-in-days", "3")
	if in := d.service.invite; in.WorkspaceID != "w1" || len(in.Emails) != 2 || in.ExpiresInDays != 3 {
		t.Errorf("%+v", in)
	}
}

func TestEmptyListFlagClearsList(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "", "atlas", "update", "a1", "--keywords", "", "--if-match", `"t"`)
	if in := d.service.update; in.Keywords == nil || len(*in.Keywords) != 0 || in.Name != nil ||
		d.service.actor.IfMatch != `"t"` {
		t.Errorf("%+v %+v", in, d.service.actor)
	}
}

func TestListFlagsReachServerUnchanged(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	for _, environ := range [][]string{nil, {"LOCI_URL=" + server.URL, "LOCI_API_KEY=" + fakeKey}} {
		d.Environ = append([]string{"HOME=" + d.home}, environ...)
		for line, want := range map[string]loci.Tags{
			"":              nil,
			"--tags=":       {},
			"--tags=a,b":    {"a", "b"},
			`--tags=a\,b,c`: {"a,b", "c"},
			`--tags=a\`:     {`a\`},
		} {
			d.service.list = loci.ListMemories{}
			code := d.run(append([]string{"memory", "list", "--json", "--include", "archived"},
				strings.Fields(line)...)...)
			if got := d.service.list.Tags; code != 0 || !slices.Equal(got, want) || len(d.service.list.Include) != 1 {
				t.Errorf("%v %s: %d %q, want %q %s", environ, line, code, got, want, d.out.String())
			}
		}
		if code := d.run("memory", "list", "--tags", "a,,b"); code != exitUsage ||
			!strings.Contains(d.err.String(), `--tags "a,,b" has an empty item between commas`) {
			t.Errorf("%v: an empty item: %d %s", environ, code, d.err.String())
		}
	}
}

func TestFlagsAcceptBooleansAndJSON(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	if code := d.run("invitation", "respond", "i1", "--accept=false", "--confirm"); code != 0 ||
		d.service.respond.Accept || !bool(d.service.respond.Confirm) {
		t.Errorf("%d %+v %s", code, d.service.respond, d.err.String())
	}
	d.expectRun(t, 0, "", "toy-box", "sort", "--rules", `[{"name":"x"},{"uri":"y"}]`, "--deep", "--speed",
		"1.5")
	if in := d.service.sort; len(in.Rules) != 2 || in.Rules[1].URI != "y" || !in.Deep || in.Speed != 1.5 {
		t.Errorf("%+v", in)
	}
}

func TestFlagsAcceptObjects(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "", "toy-box", "sort", "--extra", `{"path":"<x>","sizes":[1]}`, "--toggles-attic",
		"--toggles-cellar=false")
	in := d.service.sort
	if in.Extra["path"] != "<x>" || len(in.Extra["sizes"].([]any)) != 1 || !*in.Toggles.Attic || *in.Toggles.Cellar {
		t.Errorf("%+v", in)
	}
	for _, extra := range []string{"path", `["x"]`, `{"a":1,"a":2}`} {
		d.expectRun(t, 2, "invalid_query", "toy-box", "sort", "--extra", extra, "--json")
	}
}

func TestDashReadsStdinOnce(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.in = strings.NewReader("# From a pipe\n\n")
	if code := d.run("memory", "create", "--content", "-"); code != 0 ||
		d.service.create.Content != "# From a pipe\n\n" {
		t.Errorf("%d %q", code, d.service.create.Content)
	}
	for _, text := range []string{"secret", "secret\n", "secret\r\n"} {
		d.in = strings.NewReader(text)
		if code := d.run("invitation", "respond", fakeID, "--accept", "--confirm", "--token", "-"); code != 0 ||
			d.service.respond.Token != "secret" {
			t.Errorf("%q: %d %q", text, code, d.service.respond.Token)
		}
	}
	d.in = strings.NewReader("x")
	d.expectRun(t, 2, "", "memory", "create", "--content", "-", "--title", "-")
	d.in = strings.NewReader(strings.Repeat("x", (1<<20)+1))
	d.expectRun(t, 1, "content must have at most 262144 bytes", "memory", "create", "--content", "-", "--json")
	d.in = strings.NewReader("a\xff")
	d.expectRun(t, 1, "the standard input is not valid UTF-8", "memory", "create", "--content", "-")
}

func TestInvalidFlagValueReturnsOperationError(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for hint, args := range map[string][]string{
		"2 limit must be an integer":   {"memory", "list", "--limit", "five"},
		"2 content is required":        {"memory", "create"},
		"2 type must be one of fact":   {"memory", "create", "--content", "x", "--type", "Fact"},
		"2 mode must be one of auto":   {"memory", "search", "x", "--mode", "fast"},
		"2 accept must be a boolean":   {"invitation", "respond", "i", "--accept=maybe", "--confirm"},
		"1 content must not be empty":  {"memory", "create", "--content", ""},
		"2 since must be a time":       {"memory", "list", "--since", "foo"},
		"2 limit must be at most":      {"memory", "list", "--limit", "1000"},
		"1 not valid UTF-8":            {"memory", "create", "--content", "a\xff"},
		"2 rules must be a list":       {"toy-box", "sort", "--rules", "{}"},
		"2 at least one field to chan": {"atlas", "update", "a"},
	} {
		code := d.run(args...)
		said := d.err.String()
		if fmt.Sprint(code) != hint[:1] || !strings.Contains(said, hint[2:]) ||
			strings.HasSuffix(said, fmt.Sprintf("\nTry loci %s %s --help.\n", args[0], args[1])) != (code == 2) {
			t.Errorf("%v: %d %s", args, code, said)
		}
	}
	d.expectRun(t, 2, `"code":"invalid_query"`, "memory", "create", "--json")
	testenv.Contains(t, d.out.String(), `"requestId":"`)
	d.expectRun(t, 2, `takes only [text], but got "texts" too: put a text with spaces between quotation marks`, "memory", "create", "two", "texts")
	testenv.Equal(t, d.openCount, 0)
	d.expectRun(t, 0, "", "memory", "create", "a text")
	testenv.Equal(t, d.service.create.Content, "a text")
}

func TestSettingsHelpBeginsWithCapital(t *testing.T) {
	t.Parallel()
	for _, s := range server.Catalogue {
		if first := s.Help[:1]; first != strings.ToUpper(first) {
			t.Errorf("--%s begins with a small letter: %q", s.Flag, s.Help)
		}
	}
}
