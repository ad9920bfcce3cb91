package blob

import (
	"mime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

func FuzzDisposition(f *testing.F) {
	for _, name := range []string{"a.txt", "../../x", `a"b`, "CON", "😀.png", "\u202egpj.exe", "a;b=c", "%41", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		header := Disposition(name)
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || utf8.ValidString(name) && params["filename"] != name {
			t.Errorf("%q: %s: %q, %v", name, header, params["filename"], err)
		}
		for _, c := range []byte(header) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q: %q", name, header)
			}
		}
		safe := loci.FileName(name).Safe()
		if safe == "" || strings.ContainsAny(safe, "/\\\x00:\n") || safe == "." || safe == ".." ||
			!utf8.ValidString(safe) {
			t.Errorf("%q is not safe as %q", name, safe)
		}
		if again := loci.FileName(safe).Safe(); again != safe {
			t.Errorf("%q becomes %q, and then %q", name, safe, again)
		}
	})
}
