package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	gomail "github.com/wneessen/go-mail"

	"github.com/loci-memory/loci"
)

// A mailbox is an SMTP server on loopback that keeps its mails.
type mailbox struct {
	refuse error  // answer to each recipient
	needed string // password

	mu       sync.Mutex
	mails    []string
	secure   bool // the last mail came over TLS
	signedIn bool
}

func (b *mailbox) NewSession(c *smtp.Conn) (smtp.Session, error) { return &session{b, c}, nil }

type session struct {
	*mailbox
	conn *smtp.Conn
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.signedIn = user == "loci" && password == s.needed; !s.signedIn {
			return errors.New("wrong password")
		}
		return nil
	}), nil
}
func (s *session) Mail(string, *smtp.MailOptions) error { return nil }
func (s *session) Rcpt(string, *smtp.RcptOptions) error { return s.refuse }
func (s *session) Reset()                               {}
func (s *session) Logout() error                        { return nil }
func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, string(text))
	_, s.secure = s.conn.TLSConnectionState()
	return err
}

// testTLS is the configuration of a server for example.com and 127.0.0.1, and that of its clients.
func testTLS(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	h := httptest.NewTLSServer(nil)
	t.Cleanup(h.Close)
	roots := x509.NewCertPool()
	roots.AddCert(h.Certificate())
	return &tls.Config{Certificates: h.TLS.Certificates}, &tls.Config{RootCAs: roots, ServerName: "example.com"}
}

// start starts a server, with STARTTLS if config is not nil. It returns its port.
func (b *mailbox) start(t *testing.T, config *tls.Config) (port string) {
	t.Helper()
	s := smtp.NewServer(b)
	s.AllowInsecureAuth, s.TLSConfig, s.ErrorLog = true, config, discard{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

type discard struct{}

func (discard) Printf(string, ...any) {}
func (discard) Println(...any)        {}

var example = Invitation("bob@example.com", "Ann\r\nBcc: eve@example.com", "Research & <b>Ärzte</b>", loci.RoleMember,
	"https://loci.example.org/invite?id=1&token=x", time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC))

func send(t *testing.T, address string, m Message, options ...gomail.Option) error {
	t.Helper()
	s, err := Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s.options = append(s.options, options...)
	return s.Send(t.Context(), m)
}

// parts returns the texts of a mail by media type.
func parts(t *testing.T, m *netmail.Message) map[string]string {
	t.Helper()
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		media, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		text, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil || p.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
			t.Errorf("%v, %v", err, p.Header)
		}
		texts[media] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
}

func TestServerSendsBothParts(t *testing.T) {
	t.Parallel()
	b := &mailbox{}
	if err := send(t, "smtp://127.0.0.1:"+b.start(t, nil)+"?from=Loci+%3Cloci@example.org%3E", example); err != nil {
		t.Fatal(err)
	}
	m, err := netmail.ReadMessage(strings.NewReader(b.mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	subject, _ := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if subject != "Ann Bcc: eve@example.com invites you to Research & <b>Ärzte</b>" || m.Header.Get("Bcc") != "" ||
		m.Header.Get("From") != `"Loci" <loci@example.org>` || m.Header.Get("To") != "<bob@example.com>" ||
		m.Header.Get("Auto-Submitted") != "auto-generated" || m.Header.Get("Message-ID") == "" {
		t.Errorf("%q %v", subject, m.Header)
	}
	texts := parts(t, m)
	plain, rich := texts["text/plain"], texts["text/html"]
	for _, want := range []string{"to the workspace Research & <b>Ärzte</b> at Loci, as " +
		"member.\n\nhttps://loci.example.org/invite?id=1&token=x\n",
		"until 4 March 2026, 05:06 UTC."} {
		if !strings.Contains(plain, want) {
			t.Errorf("%q lacks %q", plain, want)
		}
	}
	if !strings.Contains(rich, `href="https://loci.example.org/invite?id=1&amp;token=x"`) ||
		!strings.Contains(rich, "Research &amp; &lt;b&gt;Ärzte&lt;/b&gt;") {
		t.Error(rich)
	}
}

func TestServerEncryptsAndSignsIn(t *testing.T) {
	t.Parallel()
	server, client := testTLS(t)
	b := &mailbox{needed: "p@ss/word"}
	user := url.UserPassword("loci", b.needed).String()
	address := "smtp://" + user + "@127.0.0.1:" + b.start(t, server) + "?from=loci@example.org"
	if err := send(t, address, example, gomail.WithTLSConfig(client)); err != nil {
		t.Fatal(err)
	}
	if !b.secure || !b.signedIn {
		t.Errorf("encrypted %t, signed in %t", b.secure, b.signedIn)
	}
	wrong := strings.Replace(address, "p%40ss%2Fword", "tuna4you", 1)
	err := send(t, wrong, example, gomail.WithTLSConfig(client))
	if err == nil || strings.Contains(err.Error(), "tuna4you") {
		t.Errorf("a wrong password got %v", err)
	}
}

func TestServerOffLoopbackMustEncrypt(t *testing.T) {
	t.Parallel()
	b := &mailbox{}
	port := b.start(t, nil)
	dial := gomail.WithDialContextFunc(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	})
	if err := send(t, "smtp://mail.example.org?from=loci@example.org", example, dial); err == nil || len(b.mails) > 0 {
		t.Errorf("sent without encryption: %v", err)
	}
}

func TestServerTellsRefusedFromFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer  error
		refused bool
	}{
		{&smtp.SMTPError{Code: 550, Message: "no such user bob@example.com"}, true},
		{&smtp.SMTPError{Code: 451, Message: "greylisted"}, false},
	} {
		b := &mailbox{refuse: c.answer}
		err := send(t, "smtp://127.0.0.1:"+b.start(t, nil)+"?from=loci@example.org", example)
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused != c.refused ||
			strings.Contains(err.Error(), "bob@") {
			t.Errorf("%v: %v", c.answer, err)
		}
	}
	if err := send(t, "smtp://127.0.0.1:1?from=loci@example.org", example); err == nil {
		t.Error("sent to nobody")
	}
}

func TestParseRefusesBadAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "mail.example.org", "http://mail.example.org?from=a@b.c", "smtp://?from=a@b.c",
		"smtp://mail.example.org", "smtp://mail.example.org?from=nobody", "smtp://mail.example.org?from=a@b.c&tls=0",
		"smtp://mail.example.org:0?from=a@b.c", "smtp://mail.example.org:70000?from=a@b.c",
		"smtp://mail.example.org/x?from=a@b.c", "smtp://u:" + "tuna4you@mail.example.org:x?from=a@b.c"} {
		if _, err := Parse(address); err == nil || strings.Contains(err.Error(), "tuna4you") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
