package secret

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/relevance/datasettest"
	"github.com/loci-memory/loci/internal/secret/secrettest"
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
		testenv.Equal(t, scanRules(string(text)), "", path)
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%v after %d files", err, files)
	}
}

// recallFloors are the least recall of whole credentials of each kind, over all contexts. docs/security.md states them.
var recallFloors = map[string]float64{
	"own prefix or shape": .98, "name of a provider": .93, "private keys, signed tokens": .96,
	"passwords with symbols": .84, "passwords of letters and digits": .84,
	"keys of letters and digits": .98, "keys of hexadecimal digits": .98, "keys with symbols": .87,
	"keys in base64": .96, "keys of letters": .72,
}

// coversValue reports whether findings cover all of a value.
func coversValue(all []Finding, from, to int) bool {
	for _, f := range all {
		if f.From <= from && from < f.To {
			from = f.To
		}
	}
	return from >= to
}

func TestScanFindsCredentialsInEveryContext(t *testing.T) {
	t.Parallel()
	const draws = 4
	formats := map[string]bool{}
	all, found, places := map[string]int{}, map[string]int{}, map[string][2]int{}
	missed := map[string]string{}
	for seed := range uint64(draws) {
		for _, kind := range secrettest.RandomKinds(rand.New(rand.NewPCG(seed, 7))) {
			for _, c := range kind.Credentials {
				formats[fmt.Sprint(kind.Name, c.Format, len(c.Value))] = true
				for _, p := range secrettest.Contexts {
					text, from, to := p.Render(c.Name, c.Value)
					at := places[kind.Name+", "+p.Name]
					all[kind.Name]++
					at[1]++
					if coversValue(Scan(text), from, to) {
						found[kind.Name]++
						at[0]++
					} else {
						missed[kind.Name+", "+p.Name] = text
					}
					places[kind.Name+", "+p.Name] = at
				}
			}
		}
	}
	if len(formats) < 100 || len(secrettest.Contexts) < 20 {
		t.Errorf("%d formats in %d places", len(formats), len(secrettest.Contexts))
	}
	for kind, n := range all {
		share := float64(found[kind]) / float64(n)
		t.Logf("%s: %d of %d, %.3f", kind, found[kind], n, share)
		if share < recallFloors[kind] {
			t.Errorf("%s: %.3f are found, want %.3f", kind, share, recallFloors[kind])
		}
	}
	for place, text := range missed {
		if n := places[place]; n[0]*10 < n[1]*9 {
			t.Logf("%s: %d of %d, not in %q", place, n[0], n[1], text)
		}
	}
}
