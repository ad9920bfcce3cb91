// Package mailtest has an SMTP server on loopback for tests, which keeps its mails and fails as asked.
package mailtest

import (
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/loci-memory/loci/internal/waittest"
)

// A Mailbox is an SMTP server. Its fields are set before Start, or by Change.
type Mailbox struct {
	Password string                // of the user loci; empty needs none
	TLS      *tls.Config           // for STARTTLS; nil offers none
	Refuse   func(to string) error // answer to a recipient; nil accepts all
	Hold     func()                // returns before the answer to a text; nil answers at once
	HangUp   bool                  // breaks the connection instead of that answer, without keeping the mail

	mu    sync.Mutex
	port  string
	stop  func()
	mails []Mail
}

// A Mail is a mail that a Mailbox has accepted.
type Mail struct {
	To       string // of the envelope
	Raw      string
	Secure   bool // over TLS
	SignedIn bool
}

// Start starts the server on a free port, or after Stop on the same one.
func (b *Mailbox) Start(t testing.TB) {
	t.Helper()
	s := smtp.NewServer(b)
	s.AllowInsecureAuth, s.TLSConfig, s.ErrorLog = true, b.TLS, discard{}
	if b.port == "" {
		b.port = "0"
	}
	var l net.Listener
	waittest.Until(t, func() (ok bool) { // after Stop, a connection of another program may use the port for a while
		var err error
		l, err = net.Listen("tcp", "127.0.0.1:"+b.port)
		return err == nil
	})
	_, b.port, _ = net.SplitHostPort(l.Addr().String())
	b.stop = func() {
		l.Close() // the server may not serve it yet
		s.Close()
	}
	go s.Serve(l) // ends with stop
	t.Cleanup(b.stop)
}

// Stop breaks all connections.
func (b *Mailbox) Stop() { b.stop() }

// Address returns the value of LOCI_SMTP_URL for a Mailbox without a password.
func (b *Mailbox) Address() string { return "smtp://127.0.0.1:" + b.port + "?from=loci@example.org" }

// Port returns the port.
func (b *Mailbox) Port() string { return b.port }

// Change changes the fields of a running server.
func (b *Mailbox) Change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// Mails returns the mails so far.
func (b *Mailbox) Mails() []Mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Mail(nil), b.mails...)
}

// Wait returns the n-th mail to an address.
func (b *Mailbox) Wait(t testing.TB, to string, n int) Mail {
	t.Helper()
	var found []Mail
	waittest.Until(t, func() bool {
		found = slices.DeleteFunc(b.Mails(), func(m Mail) bool { return m.To != to })
		return len(found) > n
	})
	return found[n]
}

// Parts returns the header of a mail and its texts by media type.
func (m Mail) Parts(t testing.TB) (header netmail.Header, texts map[string]string) {
	t.Helper()
	msg, err := netmail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for r := multipart.NewReader(msg.Body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return msg.Header, texts
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

// Link returns the link of a mail, which stands on a line of its own.
func (m Mail) Link(t testing.TB) string {
	t.Helper()
	_, texts := m.Parts(t)
	for line := range strings.Lines(texts["text/plain"]) {
		if strings.HasPrefix(line, "http") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("no link in %q", texts)
	return ""
}

// NewSession begins a connection.
func (b *Mailbox) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &session{Mailbox: b, conn: c}, nil
}

type session struct {
	*Mailbox
	conn     *smtp.Conn
	to       string
	signedIn bool
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.signedIn = user == "loci" && password == s.Password; !s.signedIn {
			return errors.New("wrong password")
		}
		return nil
	}), nil
}

func (s *session) Mail(string, *smtp.MailOptions) error {
	if s.Password != "" && !s.signedIn {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	refuse := s.Refuse
	s.mu.Unlock()
	if s.to = to; refuse != nil {
		return refuse(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	hold, hangUp := s.Hold, s.HangUp
	s.mu.Unlock()
	if hold != nil {
		hold()
	}
	if hangUp {
		return s.conn.Conn().Close()
	}
	_, secure := s.conn.TLSConnectionState()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, Mail{To: s.to, Raw: string(text), Secure: secure, SignedIn: s.signedIn})
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

type discard struct{}

func (discard) Printf(string, ...any) {}
func (discard) Println(...any)        {}
