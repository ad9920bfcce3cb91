package retrieval

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write makes a set in a folder of the test. A file without text is not made.
func write(t *testing.T, documents, questions string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "set")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{documentsFile: documents, questionsFile: questions} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	oneText     = `{"id": "a", "text": "One."}` + "\n"
	oneQuestion = `{"text": "one", "relevant": {"a": 1}}` + "\n"
)

func TestASetIsRead(t *testing.T) {
	t.Parallel()
	s, err := Read(write(t, `{"group": "g", "id": "D1:2", "title": "T", "text": "Two.", "more": 1}`+"\r\n\n"+`{"group": "h", "id": "D1:2", "text": "Other."}`,
		`{"group": "g", "id": "q", "text": "two", "relevant": {"D1:2": 2.5}, "category": "x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "set" || !slices.Equal(s.Documents, []Document{{"g", "D1:2", "T", "Two."}, {"h", "D1:2", "", "Other."}}) {
		t.Errorf("documents of %q: %+v", s.Name, s.Documents)
	}
	if q := s.Questions; len(q) != 1 || q[0].Group != "g" || q[0].ID != "q" || q[0].Text != "two" || q[0].Relevant["D1:2"] != 2.5 {
		t.Errorf("questions: %+v", q)
	}
}

func TestAFaultOfASetIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, documents, questions, says string }{
		{"no texts", "", oneQuestion, "docs.jsonl: no such file"},
		{"no questions", oneText, "", "queries.jsonl: no such file"},
		{"empty texts", "\n\n", oneQuestion, "docs.jsonl is empty"},
		{"empty questions", oneText, "\n", "queries.jsonl is empty"},
		{"no JSON", oneText + "\n{\"id\": \n", oneQuestion, "docs.jsonl, line 3: this is not the JSON object"},
		{"a list", "[]\n", oneQuestion, "docs.jsonl, line 1: this is not the JSON object"},
		{"two objects", `{"id": "a", "text": "x"} {"id": "b", "text": "y"}`, oneQuestion, "docs.jsonl, line 1: this is not the JSON object"},
		{"a number as id", `{"id": 1, "text": "x"}`, oneQuestion, "line 1"},
		{"no UTF-8", "{\"id\": \"\xff\", \"text\": \"x\"}", oneQuestion, "docs.jsonl, line 1: this is not UTF-8"},
		{"no id", `{"text": "x"}`, oneQuestion, `line 1: a text needs an "id"`},
		{"no text", `{"id": "a", "text": " "}`, oneQuestion, `line 1: the "text" of "a" is empty`},
		{"an id twice", oneText + oneText, oneQuestion, `docs.jsonl, line 2: the id "a" stands here for the second time`},
		{"a long text", `{"id": "a", "text": "` + strings.Repeat("x", 256<<10+1) + `"}`, oneQuestion, "line 1: the text of \"a\" has 262145 bytes"},
		{"a long title", `{"id": "a", "text": "x", "title": "` + strings.Repeat("ü", 301) + `"}`, oneQuestion, "more than 300 characters"},
		{"a long line", oneText + strings.Repeat(" ", longestLine+1), oneQuestion, "docs.jsonl, line 2: bufio.Scanner: token too long"},
		{"an unknown id", oneText, oneQuestion + `{"text": "two", "relevant": {"a": 1, "b": 1}}`, `queries.jsonl, line 2: "relevant" names "b", and docs.jsonl has no such text`},
		{"an id of another group", oneText, `{"group": "g", "text": "two", "relevant": {"a": 1}}`, `no such text in the group "g"`},
		{"nothing relevant", oneText, `{"text": "two"}`, `line 1: a question needs "relevant"`},
		{"a grade of 0", oneText, `{"text": "two", "relevant": {"a": 0}}`, `gives "a" the number 0`},
		{"grades as a list", oneText, `{"text": "two", "relevant": ["a"]}`, "line 1: this is not the JSON object"},
		{"no question", oneText, `{"relevant": {"a": 1}}`, `line 1: a question needs a "text"`},
		{"a long question", oneText, `{"text": "` + strings.Repeat("x", 2001) + `", "relevant": {"a": 1}}`, "more than 2000 characters"},
		{"a question twice", oneText, strings.Repeat(`{"id": "q", "text": "x", "relevant": {"a": 1}}`+"\n", 2), `line 2: the question "q" stands here for the second time`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Read(write(t, c.documents, c.questions)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v, and not %q", err, c.says)
			}
		})
	}
}

func TestAFolderStandsForTheSetsBelow(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	var want []string
	for _, name := range []string{"a [1]", "b*"} {
		dir := filepath.Join(above, name)
		if err := os.Rename(write(t, oneText, oneQuestion), dir); err != nil {
			t.Fatal(err)
		}
		want = append(want, dir)
	}
	if err := os.Mkdir(filepath.Join(above, "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, dirs := range map[string][]string{above: want, want[0]: want[:1], want[1]: want[1:]} {
		if got, err := Folders(path); err != nil || !slices.Equal(got, dirs) {
			t.Errorf("%s stands for %q, %v", path, got, err)
		}
	}
	if _, err := Folders(filepath.Join(above, "none")); err == nil || !strings.Contains(err.Error(), "holds no set") {
		t.Error(err)
	}
	if _, err := Folders(filepath.Join(above, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAPartHasItsConversationAndPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		group, id, in string
		position      int64
	}{
		{"conv-1", "D3:14", "conv-1/D3", 14}, {"", "D3:14", "D3", 14}, {"g", "talk:one:7", "g/talk:one", 7},
	} {
		if s := (Document{Group: c.group, ID: c.id}).source(); s == nil || string(s.Group) != c.in || *s.Position != c.position {
			t.Errorf("%s of %q: %+v", c.id, c.group, s)
		}
	}
	for _, id := range []string{"p0", "D3:", ":4", "D3:x", "https://host:8080/page", "http://host:80", "a b:1", "D3:1234567890"} {
		if s := (Document{ID: id}).source(); s != nil {
			t.Errorf("%s is no part, and has %+v", id, s)
		}
	}
}
