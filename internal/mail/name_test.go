package mail

import (
	"html"
	"mime"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mail/mailtest"
	"github.com/loci-memory/loci/internal/testenv"
)

// hostileNames are names that mail programs would turn into links, or show as something else.
var hostileNames = []string{
	"your mailbox expires today, renew: https://evil.example/renew", "HTTPS://EVIL.EXAMPLE", "www.evil.example",
	"evil.example", "evil.example/renew?now", "(evil.co.uk)", "192.0.2.1", "http://localhost/x",
	"mailto:eve@evil.example", "eve@evil.example", "tel:+15550100", `\\evil\share`, "file:///etc/passwd",
	"evil。example", "evil．example", "evil｡example", "evil․example", "evil﹒example", "https：//evil", "eve＠evil",
	"evil\u200b.\u200bexample", "evil.\u00adexample", "evil.\u2060example", "xn--e1afmkfd.example", "пример.рф",
	"a.b.c.d", "javascript:alert(1)", "https:\u00a0//evil.example", "%0aBcc:x", "\xff\xfe",
	"one\r\nBcc: eve@evil.example\n\nhttps://evil.example/", "two\u2028three\u2029four\vfive\ffour\x00\x1b[31m",
	"\u202eelpmaxe.live\u202c", "\u2066turned\u2069 \u061c\u200f", `IT" invites you to "Loci`, "“quoted” „names‟",
	"＂wide＂", "=?utf-8?q?=E2=80=AE=0Ahttps=3A//evil=2Eexample?=", "<a href='https://evil.example'>renew</a>", "&#46;",
	strings.Repeat("long ", 40), strings.Repeat("https://evil.example/", 9), strings.Repeat("Ärzte ", 30),
	"e" + strings.Repeat("\u0301", 190), "\U000e0065\U000f0000", strings.Repeat("\ufdfa", 60), "👩‍👩‍👧", "می\u200cخواهم",
}

// linkPattern finds what mail programs make links of: addresses with a scheme, domains, and mail addresses.
var linkPattern = regexp.MustCompile(`[.:@．：＠。｡․﹒]\S|\\\S|=\?`)

// checkName fails unless a name in a mail is one short line without links.
func checkName(t *testing.T, from, name string) {
	t.Helper()
	if n := utf8.RuneCountInString(name); n == 0 || n > maxName {
		t.Errorf("%q becomes %d characters: %q", from, n, name)
	}
	testenv.Equal(t, linkPattern.FindString(name), "", from, name)
	for _, r := range name {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '"' {
			t.Errorf("%q becomes %q, which holds %U", from, name, r)
		}
	}
}

var invitationSubject = regexp.MustCompile(`^(Somebody|"([^"\n]*)") invites you to "([^"\n]*)"$`)

// Inviter and workspace are the texts of users in mails. No other mail has one.
func TestNamesInMailsMakeNoLinks(t *testing.T) {
	t.Parallel()
	b := &mailtest.Mailbox{}
	b.Start(t)
	for _, name := range hostileNames {
		for _, names := range [][2]string{{name, "Crew"}, {"Ann", name}} {
			before := len(b.Mails())
			m := Invitation("bob@example.com", names[0], names[1], loci.RoleMember,
				"https://loci.example.org/invite?id=1&token=x", time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC))
			testenv.NoError(t, send(t, b.Address(), m))
			header, texts := b.Mails()[before].Parts(t)
			if len(header["Subject"]) != 1 || header.Get("Bcc") != "" {
				t.Errorf("%q: %v", name, header)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
			found := invitationSubject.FindStringSubmatch(subject)
			if err != nil || found == nil {
				t.Errorf("%q: the subject is %q, %v", name, subject, err)
				continue
			}
			if found[1] != "Somebody" {
				checkName(t, names[0], found[2])
			}
			checkName(t, names[1], found[3])
			text := found[1] + ` invites you to the workspace "` + found[3] + `" at Loci, as member.`
			if !strings.HasPrefix(texts["text/plain"], text+"\n\nhttps://loci.example.org/invite?id=1&token=x\n") {
				t.Errorf("%q: the text is %q", name, texts["text/plain"])
			}
			if !strings.Contains(html.UnescapeString(texts["text/html"]), "<p>"+text+"</p>") ||
				strings.Contains(texts["text/html"], "href='") {
				t.Errorf("%q: the page is %q", name, texts["text/html"])
			}
		}
	}
}

// Usual names stay as they are.
func TestUsualNamesAreQuotedUnchanged(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Ann": `"Ann"`, "Acme Inc.": `"Acme Inc."`, "R&D/Ops (EU)": `"R&D/Ops (EU)"`,
		"研究チーム": `"研究チーム"`, "O’Neill's team": `"O’Neill's team"`, "👩‍👩‍👧": `"👩‍👩‍👧"`, "Team: Ops": `"Team: Ops"`,
		"node.js": `"node. js"`, "renew: https://evil.example/x now": `"renew: … now"`, "www.evil.example": `"…"`,
		" \u200b ": "", strings.Repeat("a", 60): `"` + strings.Repeat("a", 60) + `"`,
		strings.Repeat("a", 61): `"` + strings.Repeat("a", 59) + `…"`} {
		testenv.Equal(t, quoteName(name), want, name)
	}
}
