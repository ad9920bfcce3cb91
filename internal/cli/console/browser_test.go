package console

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestBrowseRunsBrowserOfEnvironmentWithoutShell(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no touch")
	}
	path := filepath.Join(t.TempDir(), "$(a) b;c")
	c := &Console{Environ: []string{"BROWSER=no-such-program-1:touch"}}
	testenv.NoError(t, c.Browse(path))
	waittest.Until(t, func() bool { _, err := os.Stat(path); return err == nil })
}

func TestBrowseFailsWithoutBrowser(t *testing.T) {
	t.Parallel()
	c := &Console{Environ: []string{"BROWSER=no-such-program-1:no-such-program-2 %s"}}
	if err := c.Browse("http://127.0.0.1"); err != errNoBrowser {
		t.Error(err)
	}
}

func TestBrowsersFollowSystemAndDisplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system  string
		environ []string
		want    [][]string
	}{
		{"darwin", nil, [][]string{{"open"}}},
		{"windows", nil, [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}},
		{"linux", nil, nil},
		{"linux", []string{"DISPLAY=:0"}, [][]string{{"xdg-open"}, {"wslview"}}},
		{"linux", []string{"DISPLAY=:0", "BROWSER=firefox --new-window"}, [][]string{{"firefox", "--new-window"}}},
	} {
		if got := (&Console{Environ: c.environ}).browsers(c.system); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %v: %q", c.system, c.environ, got)
		}
	}
	for words, want := range map[string][]string{"": {"", "A"}, "--url=%s": {"--url=A"}} {
		testenv.EqualSlices(t, insertAddress([]string{words}, "A"), want)
	}
}
