package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"html"
	"mime"
	"net"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-smtp"
	gomail "github.com/wneessen/go-mail"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mail/mailtest"
	"github.com/loci-memory/loci/internal/testenv"
)

// testTLS is the configuration of a server for example.com and 127.0.0.1, and that of its clients.
func testTLS(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	h := httptest.NewTLSServer(nil)
	t.Cleanup(h.Close)
	roots := x509.NewCertPool()
	roots.AddCert(h.Certificate())
	return &tls.Config{Certificates: h.TLS.Certificates}, &tls.Config{RootCAs: roots, ServerName: "example.com"}
}

var example = Invitation("bob@example.com", "Ann\r\nBcc: eve@example.com", "Research & <b>Ärzte</b>", loci.RoleMember,
	"https://loci.example.org/invite?id=1&token=x", time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC))

func send(t *testing.T, address string, m Message, options ...gomail.Option) error {
	t.Helper()
	s := testenv.Must(Parse(address))(t)
	s.options = append(s.options, options...)
	return s.Send(t.Context(), m)
}

func TestServerSendsBothParts(t *testing.T) {
	t.Parallel()
	b := &mailtest.Mailbox{}
	b.Start(t)
	testenv.NoError(t, send(t, "smtp://127.0.0.1:"+b.Port()+"?from=Loci+%3Cloci@example.org%3E", example))
	header, texts := b.Mails()[0].Parts(t)
	subject, _ := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
	if subject != `"Ann Bcc: eve@ example. com" invites you to "Research & <b>Ärzte</b>"` || header.Get("Bcc") != "" ||
		header.Get("From") != `"Loci" <loci@example.org>` || header.Get("To") != "<bob@example.com>" ||
		header.Get("Auto-Submitted") != "auto-generated" || header.Get("Message-ID") == "" {
		t.Errorf("%q %v", subject, header)
	}
	plain, rich := texts["text/plain"], texts["text/html"]
	for _, want := range []string{"to the workspace \"Research & <b>Ärzte</b>\" at Loci, as " +
		"member.\n\nhttps://loci.example.org/invite?id=1&token=x\n",
		"until 4 March 2026, 05:06 UTC."} {
		testenv.Contains(t, plain, want, "lacks")
	}
	if !strings.Contains(rich, `href="https://loci.example.org/invite?id=1&amp;token=x"`) ||
		!strings.Contains(rich, "Research &amp; &lt;b&gt;Ärzte&lt;/b&gt;") {
		t.Error(rich)
	}
}

// A mail program decodes encoded words in a subject.
func TestNameHoldsNoEncodedWord(t *testing.T) {
	t.Parallel()
	m := Invitation("bob@example.com", "Ann =?utf-8?q?=E2=80=AE=0A?=", "Crew", loci.RoleMember, "", time.Time{})
	testenv.Equal(t, testenv.Must(new(mime.WordDecoder).DecodeHeader(m.Subject))(t),
		`"Ann = ?utf-8?q?= E2= 80= AE= 0A?=" invites you to "Crew"`)
}

func TestInvitationHasSubjectWhenInviterHasLeft(t *testing.T) {
	t.Parallel()
	m := Invitation("bob@example.com", "", "Research", loci.RoleMember, "https://loci.example.org/", time.Now())
	if m.Subject != `Somebody invites you to "Research"` || !strings.HasPrefix(m.Text[0], "Somebody invites") {
		t.Errorf("%q, %q", m.Subject, m.Text)
	}
}

func TestServerEncryptsAndSignsIn(t *testing.T) {
	t.Parallel()
	server, client := testTLS(t)
	b := &mailtest.Mailbox{Password: "p@ss/word", TLS: server}
	b.Start(t)
	user := url.UserPassword("loci", b.Password).String()
	address := strings.Replace(b.Address(), "smtp://", "smtp://"+user+"@", 1)
	testenv.NoError(t, send(t, address, example, gomail.WithTLSConfig(client)))
	if m := b.Mails()[0]; !m.Secure || !m.SignedIn {
		t.Errorf("encrypted %t, signed in %t", m.Secure, m.SignedIn)
	}
	wrong := strings.Replace(address, "p%40ss%2Fword", "tuna4you", 1)
	err := send(t, wrong, example, gomail.WithTLSConfig(client))
	if err == nil || strings.Contains(err.Error(), "tuna4you") {
		t.Errorf("a wrong password got %v", err)
	}
	check := func(address string) error {
		s := testenv.Must(Parse(address))(t)
		s.options = append(s.options, gomail.WithTLSConfig(client))
		return s.Check(t.Context())
	}
	testenv.NoError(t, check(address))
	if err := check(wrong); err == nil || strings.Contains(err.Error(), "tuna4you") {
		t.Errorf("a check of a wrong password got %v", err)
	}
	b.Stop()
	if err := check(address); err == nil || len(b.Mails()) != 1 {
		t.Errorf("a check of an absent server: %v, %d mails", err, len(b.Mails()))
	}
}

func TestServerOffLoopbackMustEncrypt(t *testing.T) {
	t.Parallel()
	b := &mailtest.Mailbox{}
	b.Start(t)
	dial := gomail.WithDialContextFunc(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+b.Port())
	})
	err := send(t, "smtp://mail.example.org?from=loci@example.org", example, dial)
	if err == nil || len(b.Mails()) > 0 {
		t.Errorf("sent without encryption: %v", err)
	}
}

func TestServerTellsRefusedFromFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer  error
		refused bool
	}{
		{&smtp.SMTPError{Code: 550, Message: "no such user bob@example.com, Bob@EXAMPLE.com"}, true},
		{&smtp.SMTPError{Code: 451, Message: "greylisted"}, false},
	} {
		b := &mailtest.Mailbox{Refuse: func(string) error { return c.answer }}
		b.Start(t)
		err := send(t, b.Address(), example)
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused != c.refused ||
			strings.Contains(strings.ToLower(err.Error()), "bob@") {
			t.Errorf("%v: %v", c.answer, err)
		}
	}
	if err := send(t, "smtp://127.0.0.1:1?from=loci@example.org", example); err == nil {
		t.Error("sent to nobody")
	}
}

// A server that hangs up before its answer, or never answers, has not taken the mail.
func TestServerThatBreaksOffHasNotTakenTheMail(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	for name, b := range map[string]*mailtest.Mailbox{"hangs up": {HangUp: true},
		"never answers": {Hold: func() { leave(); <-t.Context().Done() }}} {
		b.Start(t)
		s, err := Parse(b.Address())
		if err != nil {
			t.Fatal(err)
		}
		own := t.Context()
		if b.Hold != nil {
			own = ctx
		}
		err = s.Send(own, example)
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused {
			t.Errorf("a server that %s: %v", name, err)
		}
	}
}

func TestParseRefusesBadAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "mail.example.org", "http://mail.example.org?from=a@b.c", "smtp://?from=a@b.c",
		"smtp://mail.example.org", "smtp://mail.example.org?from=nobody", "smtp://mail.example.org?from=a@b.c&tls=0",
		"smtp://mail.example.org?from=a@b.c&from=d@e.f", "smtp://u:" + "tuna4you#x@mail.example.org?from=a@b.c",
		"smtp://mail.example.org:0?from=a@b.c", "smtp://mail.example.org:70000?from=a@b.c",
		"smtp://mail.example.org/x?from=a@b.c", "smtp://u:" + "tuna4you@mail.example.org:x?from=a@b.c"} {
		if _, err := Parse(address); err == nil || strings.Contains(err.Error(), "tuna4you") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

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
