package secret

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/relevance/datasettest"
	"github.com/loci-memory/loci/internal/testenv"
)

const projectRoot = "../.."

// corpus returns the texts of a dataset.
func corpus(t testing.TB, name string) (texts []string) {
	t.Helper()
	f := testenv.Must(os.Open(filepath.Join(datasettest.Dir(t, name), "docs.jsonl")))(t)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var d struct{ Title, Text string }
		testenv.NoError(t, json.Unmarshal(lines.Bytes(), &d))
		texts = append(texts, d.Title+"\n"+d.Text, lines.Text())
	}
	return texts
}

func TestScanFindsNothingInCorpora(t *testing.T) {
	t.Parallel()
	for _, name := range datasettest.Present(t, "docs", "code", "xquad-en", "xquad-ru", "xquad-zh", "jaquad",
		"locomo-sessions") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range corpus(t, name) {
				if got := scanRules(text); got != "" {
					t.Error(got)
				}
			}
		})
	}
}

// The sources of Loci hold no secret, its tests and lock files included.
func TestScanFindsNothingInSources(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(projectRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != projectRoot &&
			(strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin") {
			return fs.SkipDir
		}
		if info, err := d.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 4<<20 {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if got := scanRules(string(text)); got != "" {
			t.Errorf("%s: %s", path, got)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%v after %d files", err, files)
	}
}
