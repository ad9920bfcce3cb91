package console_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/testenv"
)

// hostile is a text of which no page may show anything but text.
const hostile = "# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)> ![p](https://evil.example/p.png) " +
	"[a](javascript:alert(1)) {{.User}} \u202e<svg/onload=alert(1)>\n\n| a |\n|---|\n| `b` |\n"

func (s *site) memoryVisits() []visit {
	s.t.Helper()
	atlas := s.Atlas(s.t, "Back<b>end")
	memory := string(s.Memory(s.t, atlas, hostile, "tag\"><b>"))
	archived := string(s.Memory(s.t, atlas, "Seat holds live in Redis."))
	must(s.t, s.Service.ArchiveMemory, s.Ann, loci.ArchiveMemory{MemoryID: loci.ID(archived)})
	old := s.Memory(s.t, atlas, "We used cron.")
	replacement := s.Memory(s.t, atlas, "We use timers of systemd.\nThe journal has their logs.")
	must(s.t, s.Service.SupersedeMemory, s.Ann, loci.SupersedeMemory{MemoryID: old, ReplacementMemoryID: replacement})
	evidence := loci.Evidence("Read <b>the code")
	must(s.t, s.Service.VerifyMemory, s.Ann, loci.VerifyMemory{MemoryID: replacement, Evidence: &evidence})
	changed := string(s.Memory(s.t, atlas, "It is red.\nIt is large."))
	content := loci.Content("It is blue.\nIt is large.")
	must(s.t, s.Service.UpdateMemory, s.Ann, loci.UpdateMemory{MemoryID: loci.ID(changed), Content: &content})
	team := "workspace_id=" + string(s.Team)
	return []visit{
		{"/app", []string{"Newest memories", "Waiting for you"}, true},
		{"/app?query=timers", []string{"memory found", "Says “timers”", "<mark>timers</mark>", "Verified"}, true},
		{"/app?query=zzzz&type=task", []string{"Nothing fits"}, true},
		{"/app?query=Redis&include=archived&" + team, []string{"Archived", "Back<b>end", "ann"}, false},
		{"/app?type=task", []string{"Nothing fits"}, true},
		{"/app/memories", []string{"All memories", "alert(1)"}, true},
		{"/app/memories?include=superseded&" + team, []string{"Replaced"}, false},
		{"/app/memories?tags=tag", []string{"Nothing fits", "remove this filter"}, true},
		{"/app/memories/" + memory, []string{"<h2>", "&lt;script&gt;", `href="https://evil.example/p.png"`,
			"Add text at the end", "Nobody has said"}, false},
		{"/app/memories/" + archived, []string{"Archived", "Restore"}, false},
		{"/app/memories/" + string(old), []string{"Another memory replaced this one", "Restore"}, false},
		{"/app/memories/" + string(replacement), []string{"Verified, counts for this text", "Read <b>the code",
			"An older memory"}, false},

		{"/app/new", []string{"Said already?", "Crew"}, true},
		{"/app/new?" + team, []string{"Back<b>end"}, false},
		{"/app/memories/" + memory + "/versions", []string{"Version 1"}, false},
		{"/app/memories/" + changed + "/versions", []string{"Version 2, compared with version 1",
			"<del>It is red.", "<ins>It is blue."}, false},
		{"/app/memories/" + changed + "/versions?version=1", []string{"Go back to version 1", "It is red."}, false},
		{"/app/context", []string{"As an agent sees it", "tokens", "We use timers of systemd."}, true},
		{"/app/context?query=timers&" + team, []string{"tokens"}, false},
	}
}

// tag finds the entity tag in a form.
var tag = regexp.MustCompile(`name="ifMatch" value="([^"]+)"`)

func TestMemoryIsWrittenAndChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text := "\r\n# Ferry\r\n\r\nSails at *nine*."
	preview := s.post("ann", "/app/new/preview", url.Values{"content": {text}, "title": {"A <b>"}})
	testenv.Contains(t, preview.raw, "<h2>Ferry</h2>")
	testenv.Contains(t, preview.raw, `value="A &lt;b&gt;"`)
	testenv.Contains(t, preview.raw, "Nothing is near")
	form := url.Values{"content": {text}, "title": {""}, "type": {"fact"}, "tags": {" a, ,b "}, "atlasId": {""},
		"workspaceId": {string(s.Team)}, "idempotencyKey": {"one"}}
	got := s.post("ann", "/app/new", form)
	path, _, _ := strings.Cut(got.Header.Get("Location"), "?")
	testenv.Equal(t, got.Header.Get("Location"), path+"?did=kept")
	testenv.Equal(t, s.post("ann", "/app/new", form).Header.Get("Location"), path+"?did=kept")
	form.Set("idempotencyKey", "two")
	testenv.Equal(t, s.post("ann", "/app/new", form).Header.Get("Location"), path+"?did=known")
	testenv.Contains(t, s.get("ann", path+"?did=kept").text, "Kept.")
	m := s.Get(t, loci.ID(strings.TrimPrefix(path, "/app/memories/")))
	testenv.Equal(t, m.Content, "\n# Ferry\n\nSails at *nine*.")
	testenv.Equal(t, strings.Join(m.Tags, "|"), "a|b")

	first := plain(tag.FindStringSubmatch(s.get("ann", path+"/edit").raw)[1])
	change := func(who, content, match string) result {
		return s.post(who, path+"/edit", url.Values{"content": {content}, "title": {""}, "type": {"fact"},
			"tags": {""}, "ifMatch": {match}, "idempotencyKey": {who + match}})
	}
	testenv.Equal(t, change("bob", "# Ferry\n\nSails at ten.", first).Header.Get("Location"), path+"?did=saved")
	conflict := change("ann", "# Ferry\n\nSails at noon.", first)
	testenv.Equal(t, conflict.StatusCode, 412)
	for _, part := range []string{"Sails at ten.", "<ins>Sails at noon.", "Somebody saved version 2"} {
		testenv.Contains(t, conflict.text, part)
	}
	now := plain(tag.FindStringSubmatch(conflict.raw)[1])
	refused := change("ann", strings.Repeat("x", 256<<10+1), now)
	testenv.Equal(t, refused.StatusCode, 400)
	testenv.Equal(t, plain(tag.FindStringSubmatch(refused.raw)[1]), now)
	testenv.Contains(t, refused.raw, `id="content-fault"`)
	testenv.Equal(t, change("ann", "# Ferry\n\nSails at noon.", now).Header.Get("Location"), path+"?did=saved")
	testenv.Equal(t, len(s.Get(t, m.ID).Tags), 0)

	for who, status := range map[string]int{"cid": 403, "eve": 404} {
		testenv.Equal(t, s.get(who, path+"/edit").StatusCode, status, who)
		testenv.Equal(t, change(who, "x", now).StatusCode, status, who)
		testenv.Equal(t, s.post(who, path+"/archive", url.Values{"idempotencyKey": {"a"}}).StatusCode, status, who)
	}
	testenv.Equal(t, s.get("ann", path+"x/edit").StatusCode, 404)
}

// plain returns a text without the entities of HTML.
func plain(text string) string { return strings.ReplaceAll(text, "&#34;", `"`) }

func TestLongAndOddTextsKeepThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	atlas := s.Atlas(t, "Long")
	for _, text := range []string{strings.Repeat("x", 256<<10), "|a|\n|-|\n" + strings.Repeat("|b|\n", 10000),
		strings.Repeat("> ", 100<<10) + "a", strings.Repeat("[a](", 60000)} {
		id := string(s.Memory(t, atlas, text))
		for _, path := range []string{"/app/memories/" + id, "/app/memories/" + id + "/edit"} {
			got := s.get("ann", path)
			s.check(path, got)
			testenv.Equal(t, got.StatusCode, 200)
		}
	}
	got := s.get("ann", "/app")
	s.check("/app", got)
	if len(got.raw) > 40<<10 {
		t.Errorf("the list has %d bytes", len(got.raw))
	}
}

func TestSavedFormChangesNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.Memory(t, s.Atlas(t, "Front"), "One.\r\nTwo.", "a,b", "c")
	evidence := loci.Evidence("Read")
	must(t, s.Service.VerifyMemory, s.Ann, loci.VerifyMemory{MemoryID: id, Evidence: &evidence})
	path := "/app/memories/" + string(id)
	fields := s.get("ann", path+"/edit").form(t, path+"/edit").fields
	fields.Set("content", "One.\r\nTwo.")
	testenv.Equal(t, s.post("ann", path+"/edit", fields).Header.Get("Location"), path+"?did=unchanged")
	m := s.Get(t, id)
	testenv.Equal(t, m.Content, "One.\r\nTwo.")
	testenv.EqualSlices(t, m.Tags, []string{"a,b", "c"})
	testenv.Equal(t, m.Reviewed(), true)
}

func TestVersionsOfferWhatIsAccepted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	atlas := s.Atlas(t, "Front")
	id := s.Memory(t, atlas, "Old.")
	content := loci.Content("New.")
	must(t, s.Service.UpdateMemory, s.Ann, loci.UpdateMemory{MemoryID: id, Content: &content})
	path := "/app/memories/" + string(id) + "/versions"
	fields := s.get("ann", path+"?version=1").form(t, path+"/revert").fields
	content = "Newer."
	must(t, s.Service.UpdateMemory, s.Ann, loci.UpdateMemory{MemoryID: id, Content: &content})
	refused := s.post("ann", path+"/revert", fields)
	testenv.Equal(t, refused.StatusCode, 412)
	testenv.Contains(t, refused.raw, `href="`+path+`?version=2"`)
	must(t, s.Service.ArchiveAtlas, s.Ann, loci.ArchiveAtlas{AtlasID: atlas})
	testenv.Equal(t, strings.Contains(s.get("ann", path+"?version=1").text, "Go back"), false)
}

func TestFileIsOneOfItsMemory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	atlas := s.Atlas(t, "Front")
	id, other := s.Memory(t, atlas, "One."), s.Memory(t, atlas, "Two.")
	a := must(t, s.Service.UploadAttachment, s.Ann, loci.UploadAttachment{MemoryID: id, FileName: "chart.txt", Size: 5,
		MIMEType: "text/plain"}).Attachment
	testenv.NoError(t, s.Service.StoreUpload(t.Context(), blob.Address{Method: blob.MethodPut, ID: a.ID, Size: a.Size,
		Type: a.MIMEType}, strings.NewReader("hello")))
	must(t, s.Service.ConfirmAttachment, s.Ann, loci.GetAttachment{AttachmentID: a.ID})
	for memory, status := range map[loci.ID]int{id: 303, other: 404} {
		testenv.Equal(t, s.get("ann", "/app/memories/"+string(memory)+"/files/"+string(a.ID)).StatusCode, status)
	}
}
