package relevance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// writeDataset makes a dataset in a folder of the test. A file without text is not made.
func writeDataset(t *testing.T, documents, questions string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "set")
	testenv.NoError(t, os.Mkdir(dir, 0o700))
	for name, text := range map[string]string{documentsFileName: documents, queriesFileName: questions} {
		if text == "" {
			continue
		}
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

const (
	documentLine = `{"id": "a", "text": "One."}` + "\n"
	queryLine    = `{"text": "one", "relevant": {"a": 1}}` + "\n"
)

func TestReadDatasetReadsFiles(t *testing.T) {
	t.Parallel()
	s := testenv.Must(ReadDataset(writeDataset(t,
		`{"group": "g", "id": "D1:2", "title": "T", "text": "Two.", "more": 1}`+
			"\r\n\n"+`{"group": "h", "id": "D1:2", "text": "Other."}`,
		`{"group": "g", "id": "q", "text": "two", "relevant": {"D1:2": 2.5}, "category": "x"}`)))(t)
	if s.Name != "set" || !slices.Equal(s.Documents,
		[]Document{{"g", "D1:2", "T", "Two."}, {"h", "D1:2", "", "Other."}}) {
		t.Errorf("documents of %q: %+v", s.Name, s.Documents)
	}
	if q := s.Queries; len(q) != 1 || q[0].Group != "g" || q[0].ID != "q" || q[0].Text != "two" ||
		q[0].Relevant["D1:2"] != 2.5 {
		t.Errorf("questions: %+v", q)
	}
}

func TestReadDatasetReportsFileAndLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, documents, questions, says string }{
		{"no texts", "", queryLine, "docs.jsonl: no such file"},
		{"no questions", documentLine, "", "queries.jsonl: no such file"},
		{"empty texts", "\n\n", queryLine, "docs.jsonl is empty"},
		{"empty questions", documentLine, "\n", "queries.jsonl is empty"},
		{"no JSON", documentLine + "\n{\"id\": \n", queryLine, "docs.jsonl, line 3: this is not a JSON object"},
		{"a list", "[]\n", queryLine, "docs.jsonl, line 1: this is not a JSON object"},
		{"two objects", `{"id": "a", "text": "x"} {"id": "b", "text": "y"}`, queryLine,
			"docs.jsonl, line 1: this is not a JSON object"},
		{"a number as id", `{"id": 1, "text": "x"}`, queryLine, "line 1"},
		{"no UTF-8", "{\"id\": \"\xff\", \"text\": \"x\"}", queryLine, "docs.jsonl, line 1: this is not UTF-8"},
		{"no id", `{"text": "x"}`, queryLine, `line 1: a document needs an "id"`},
		{"no text", `{"id": "a", "text": " "}`, queryLine, `line 1: the "text" of "a" is empty`},
		{"an id twice", documentLine + documentLine, queryLine,
			`docs.jsonl, line 2: the id "a" is used twice`},
		{"a long text", `{"id": "a", "text": "` + strings.Repeat("x", 256<<10+1) + `"}`, queryLine,
			"line 1: the text of \"a\" has 262145 bytes"},
		{"a long title", `{"id": "a", "text": "x", "title": "` + strings.Repeat("ü", 301) + `"}`, queryLine,
			"more than 300 characters"},
		{"a long line", documentLine + strings.Repeat(" ", maxLineBytes+1), queryLine,
			"docs.jsonl, line 2: bufio.Scanner: token too long"},
		{"an unknown id", documentLine, queryLine + `{"text": "two", "relevant": {"a": 1, "b": 1}}`,
			`queries.jsonl, line 2: "relevant" names "b", and docs.jsonl has no such document`},
		{"an id of another group", documentLine, `{"group": "g", "text": "two", "relevant": {"a": 1}}`,
			`no such document in the group "g"`},
		{"nothing relevant", documentLine, `{"text": "two"}`, `line 1: a query needs "relevant"`},
		{"a grade of 0", documentLine, `{"text": "two", "relevant": {"a": 0}}`, `gives "a" the number 0`},
		{"grades as a list", documentLine, `{"text": "two", "relevant": ["a"]}`, "line 1: this is not a JSON object"},
		{"no question", documentLine, `{"relevant": {"a": 1}}`, `line 1: a query needs a "text"`},
		{"a long question", documentLine, `{"text": "` + strings.Repeat("x", 2001) + `", "relevant": {"a": 1}}`,
			"more than 2000 characters"},
		{"a question twice", documentLine, strings.Repeat(`{"id": "q", "text": "x", "relevant": {"a": 1}}`+"\n", 2),
			`line 2: the query "q" is used twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := ReadDataset(writeDataset(t, c.documents, c.questions)); err == nil ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func TestDatasetFoldersListsSubfolders(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	var want []string
	for _, name := range []string{"a [1]", "b*"} {
		dir := filepath.Join(above, name)
		testenv.NoError(t, os.Rename(writeDataset(t, documentLine, queryLine), dir))
		want = append(want, dir)
	}
	testenv.NoError(t, os.Mkdir(filepath.Join(above, "none"), 0o700))
	for path, dirs := range map[string][]string{above: want, want[0]: want[:1], want[1]: want[1:]} {
		testenv.EqualSlices(t, testenv.Must(DatasetFolders(path))(t), dirs, "returns", path)
	}
	if _, err := DatasetFolders(filepath.Join(above, "none")); err == nil ||
		!strings.Contains(err.Error(), "holds no dataset") {
		t.Error(err)
	}
	if _, err := DatasetFolders(filepath.Join(above, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestDocumentSourceHasGroupAndPosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		group, id, in string
		position      int64
	}{
		{"conv-1", "D3:14", "conv-1/D3", 14}, {"", "D3:14", "D3", 14}, {"g", "talk:one:7", "g/talk:one", 7},
	} {
		if s := (Document{Group: c.group, ID: c.id}).source(); s == nil || string(s.Group) != c.in ||
			*s.Position != c.position {
			t.Errorf("%s of %q: %+v", c.id, c.group, s)
		}
	}
	for _, id := range []string{"p0", "D3:", ":4", "D3:x", "https://host:8080/page", "http://host:80", "a b:1",
		"D3:1234567890"} {
		if s := (Document{ID: id}).source(); s != nil {
			t.Errorf("%s is no part, and has %+v", id, s)
		}
	}
}
