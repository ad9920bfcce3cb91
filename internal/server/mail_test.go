package server

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/loci-memory/loci/internal/mail/mailtest"
	"github.com/loci-memory/loci/internal/waittest"
)

// startWithMail starts a server that sends its mails to a mailbox.
func startWithMail(t *testing.T, b *mailtest.Mailbox, data string) (url string, log fmt.Stringer, stop func() error) {
	t.Helper()
	url, _, log, stop = start(t, map[string]string{"data": data, "smtp-url": b.Address(), "registration": "open",
		"public-url": "http://localhost:7007"})
	return url, log, stop
}

// tokenOf returns the token of the link in a mail, which leads to a page.
func tokenOf(t *testing.T, m mailtest.Mail, page string) string {
	t.Helper()
	link := m.Link(t)
	u, err := url.Parse(link)
	if err != nil || u.Scheme+"://"+u.Host != "http://localhost:7007" || u.Path != page {
		t.Fatal(link, err)
	}
	return u.Query().Get("token")
}

func registerWith(t *testing.T, url, email, name string) {
	t.Helper()
	if status, v := callAPI(t, "POST", url+"/v1/auth/register", "", fmt.Sprintf(
		`{"email": %q, "password": "correct horse", "name": %q}`, email, name)); status != 201 {
		t.Fatal(status, v)
	}
}

// The names of users and workspaces are texts that strangers choose. They change no header and no other line.
func TestMailOfServerCarriesWorkingLinks(t *testing.T) {
	t.Parallel()
	b, data := &mailtest.Mailbox{}, t.TempDir()
	b.Start(t)
	url, log, stop := startWithMail(t, b, data)
	registerWith(t, url, "ann@example.com", "Ann\nBcc: eve@example.com\n\nhttps://evil.example/")
	verify := tokenOf(t, b.Wait(t, "ann@example.com", 0), "/verify")
	for _, want := range []int{200, 404} {
		if status, v := callAPI(t, "POST", url+"/v1/auth/verify", "", `{"token": "`+verify+`"}`); status != want {
			t.Error(status, v)
		}
	}
	if status, v := callAPI(t, "POST", url+"/v1/auth/forgot", "", `{"email": "ANN@example.com"}`); status != 200 {
		t.Fatal(status, v)
	}
	reset := tokenOf(t, b.Wait(t, "ann@example.com", 1), "/reset")
	if status, v := callAPI(t, "POST", url+"/v1/auth/reset", "", `{"token": "`+reset+
		`", "password": "battery staple"}`); status != 200 {
		t.Fatal(status, v)
	}
	admin, err := OpenAdmin(context.Background(), Settings{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	k, err := admin.CreateKey(context.Background(), "ann@example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	status, team := callAPI(t, "POST", url+"/v1/workspaces", k.APIKey, `{"name": "Crew\r\nBcc: eve@example.com"}`)
	if status != 201 {
		t.Fatal(status, team)
	}
	id := team["workspace"].(map[string]any)["id"].(string)
	status, made := callAPI(t, "POST", url+"/v1/workspaces/"+id+"/invitations", k.APIKey,
		`{"emails": ["guest@example.com"]}`)
	if invitation := made["invitations"].([]any)[0].(map[string]any); status != 201 || invitation["inviteUrl"] != nil {
		t.Error(status, made)
	}
	m := b.Wait(t, "guest@example.com", 0)
	header, texts := m.Parts(t)
	if len(header["To"]) != 1 || len(header["Subject"]) != 1 || header.Get("Bcc") != "" || header.Get("Cc") != "" ||
		strings.Contains(texts["text/plain"], "\nhttps://evil.example/") || strings.Contains(m.Raw, "\nBcc:") {
		t.Errorf("%v %q", header, texts)
	}
	token := tokenOf(t, m, "/invite")
	status, v := callAPI(t, "POST", url+"/v1/auth/register", "", `{"email": "guest@example.com",
		"password": "correct horse", "invitation": "`+token+`"}`)
	if status != 201 || v["user"].(map[string]any)["emailVerified"] != true {
		t.Error(status, v)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if len(b.Mails()) != 3 {
		t.Errorf("%d mails: %v", len(b.Mails()), b.Mails())
	}
	for _, secret := range []string{verify, reset, token, "evil.example", "@example.com", "battery"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log shows %q", secret)
		}
	}
	for _, file := range []string{"loci.db", "loci.db-wal"} {
		stored, err := os.ReadFile(filepath.Join(data, file))
		for _, secret := range []string{verify, reset, token} {
			if err == nil && strings.Contains(string(stored), secret) {
				t.Errorf("%s holds a token", file)
			}
		}
	}
}

// A mail server that refuses for now, hangs up, is slow or absent loses no mail. One that refuses for good ends it.
func TestMailOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]func(b *mailtest.Mailbox){
		"later": func(b *mailtest.Mailbox) {
			b.Refuse = func(string) error { return &smtp.SMTPError{Code: 451, Message: "greylisted"} }
		},
		"hang up": func(b *mailtest.Mailbox) { b.HangUp = true },
		"silent":  func(b *mailtest.Mailbox) { b.Hold = func() { <-t.Context().Done() } },
		"absent":  func(b *mailtest.Mailbox) { b.Stop() },
		"never": func(b *mailtest.Mailbox) {
			b.Refuse = func(string) error { return &smtp.SMTPError{Code: 550, Message: "no such user"} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, data := &mailtest.Mailbox{}, t.TempDir()
			b.Start(t)
			b.Change(func() { break_(b) })
			url, log, stop := startWithMail(t, b, data)
			registerWith(t, url, "ann@example.com", "Ann")
			if name != "silent" { // which another server continues
				waitForText(t, log, `"msg":"job","kind":"mail_verification"`)
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if name == "never" != strings.Contains(log.String(), `"dropped":true`) {
				t.Errorf("a refused mail alone is dropped: %s", log)
			}
			if strings.Contains(log.String(), "ann@") || strings.Contains(log.String(), "token") {
				t.Errorf("the log says %s", log)
			}
			if name == "never" {
				return
			}
			b.Stop()
			b.Change(func() { b.Refuse, b.HangUp, b.Hold = nil, false, nil })
			b.Start(t)
			url, _, _ = startWithMail(t, b, data)
			verify := tokenOf(t, b.Wait(t, "ann@example.com", 0), "/verify")
			if status, v := callAPI(t, "POST", url+"/v1/auth/verify", "", `{"token": "`+verify+`"}`); status != 200 {
				t.Error(status, v)
			}
		})
	}
}

func waitForText(t *testing.T, log fmt.Stringer, text string) {
	t.Helper()
	waittest.Until(t, func() bool { return strings.Contains(log.String(), text) })
}

func TestLoadRefusesBadMailServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	server := "smtp://loci:" + "tuna4you@mail.example.org" // in two parts: the scanner reads sources too
	if err := os.WriteFile(file, []byte(server+"?from=loci@example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]string{{"LOCI_SMTP_URL=mail.example.org"},
		{"LOCI_SMTP_URL=" + server},
		{"LOCI_SMTP_URL=" + server + "?from=a@b.c&tls=off"},
		{"LOCI_SMTP_URL_FILE=" + filepath.Join(dir, "absent")},
		{"LOCI_SMTP_URL_FILE=" + file, "LOCI_SMTP_URL=smtp://127.0.0.1?from=a@b.c"}} {
		_, _, err := Load(map[string]string{"data": dir}, bad)
		if err == nil || !strings.Contains(err.Error(), "LOCI_SMTP_URL") || strings.Contains(err.Error(), "tuna4you") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	s, warnings, err := Load(map[string]string{"data": dir}, []string{"LOCI_SMTP_URL_FILE=" + file})
	if err != nil || s.Mail == nil || len(warnings) > 0 {
		t.Errorf("%v %q %v", s.Mail, warnings, err)
	}
}

func TestServerNamesAddressOfLinksInMails(t *testing.T) {
	t.Parallel()
	b := &mailtest.Mailbox{}
	b.Start(t)
	address, out, _, _ := start(t, map[string]string{"data": t.TempDir(), "smtp-url": b.Address()})
	if !strings.Contains(out.String(), "links in mails begin with "+address+": set LOCI_PUBLIC_URL") {
		t.Error(out.String())
	}
}

func TestOperatorResetsPasswordAndTriesMail(t *testing.T) {
	t.Parallel()
	b, data := &mailtest.Mailbox{}, t.TempDir()
	b.Start(t)
	address, out, _, _ := start(t, map[string]string{"data": data})
	setup := regexp.MustCompile(`/setup\?token=(\S+)`).FindStringSubmatch(out.String())[1]
	if status, v := callAPI(t, "POST", address+"/v1/auth/setup", "", `{"token":"`+setup+
		`","email":"ann@example.com","password":"correct horse"}`); status != 201 {
		t.Fatal(status, v)
	}
	s, _, err := Load(map[string]string{"data": data, "public-url": "https://loci.example.org",
		"smtp-url": b.Address()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := OpenAdmin(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.ResetPassword(context.Background(), "nobody@example.com"); err == nil ||
		!strings.Contains(err.Error(), "nobody@example.com") {
		t.Error(err)
	}
	r, err := admin.ResetPassword(context.Background(), "ANN@example.com")
	token, found := strings.CutPrefix(r.URL, "https://loci.example.org/reset?token=")
	if left := time.Until(r.ExpiresAt.Std()); err != nil || !found || left > time.Hour || left < 59*time.Minute {
		t.Fatal(r, err)
	}
	for _, want := range []int{200, 404} {
		if status, v := callAPI(t, "POST", address+"/v1/auth/reset", "", `{"token":"`+token+
			`","password":"battery staple"}`); status != want {
			t.Error(status, v)
		}
	}
	if err := s.SendTestMail(context.Background(), "ann@example.com"); err != nil {
		t.Error(err)
	}
	if link := b.Wait(t, "ann@example.com", 0).Link(t); link != "https://loci.example.org" {
		t.Error(link)
	}
	b.Stop()
	for _, err := range []error{s.SendTestMail(context.Background(), "ann@example.com"),
		s.SendTestMail(context.Background(), "no address"), Settings{}.SendTestMail(context.Background(), "a@b.c")} {
		if err == nil {
			t.Error("a mail was sent to nobody")
		}
	}
}
