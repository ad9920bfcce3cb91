package loci_test

import (
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// uuidv7 is the form of an id (RFC 9562, section 5.7), in lower case, or of an agent's.
var uuidv7 = regexp.MustCompile(`\A([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|` +
	`agt_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15})\z`)

func FuzzID(f *testing.F) {
	for _, id := range []string{"01890000-0000-7000-8000-000000000001", "01890000-0000-4000-8000-000000000001",
		"01890000-0000-7000-C000-000000000001", "",
		"agt_01890000000070008000000000000001", "agt_01890000-0000-7000-8000-000000000001",
		"agt_0189000000007000800000000000000", "agt_", "01890000-0000-7000-8000-00000000000\n"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := loci.ID(id).Valid(), uuidv7.MatchString(id); got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	})
}

// FuzzEmail compares addresses in ASCII with net/mail: an accepted address is one address, and nothing else, in a
// header of a mail.
func FuzzEmail(f *testing.F) {
	for _, e := range []string{"ada@example.org", "Ada+x@localhost", "grün@bücher.example", "a@b@c.d",
		"ada@example.org\r\nBcc: e@f.g", "<ada@example.org>", "0@\xba", "a,b@c.d", "a..b@c.d", "ıda@example.org"} {
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := loci.Email(text)
		if !e.Valid() {
			return
		}
		if !utf8.ValidString(text) || len(text) > loci.MaxEmail || strings.ContainsAny(text, "\r\n\x00 <>,;\"") {
			t.Fatalf("%q is accepted", text)
		}
		folded := loci.Email(e.Fold())
		if folded.Fold() != string(folded) {
			t.Errorf("%q: %q folds again to %q", text, folded, folded.Fold())
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return
		}
		if a, err := mail.ParseAddressList("Ada <" + text + ">"); err != nil || len(a) != 1 || a[0].Address != text {
			t.Errorf("%q is no address of net/mail: %v, %v", text, a, err)
		}
	})
}
