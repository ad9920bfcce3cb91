package mail

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// sendTimeout bounds one mail, from the connection to the answer of the server.
const sendTimeout = 30 * time.Second

// A Server is the SMTP server that accepts the mails of Loci.
type Server struct {
	host    string
	from    *mail.Address
	options []gomail.Option
}

// Parse reads the address of a server: smtp://user:password@host:port?from=loci@example.org, or smtps://. With smtp:
// the connection is encrypted by STARTTLS; only a server on loopback may lack it. No error shows the password.
func Parse(address string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" ||
		u.Fragment != "" {
		return nil, errors.New("must be an address like " +
			"smtp://user:password@mail.example.org:587?from=loci@example.org, with special characters of the " +
			"password in percent-encoding")
	}
	for name, values := range u.Query() {
		if name != "from" || len(values) > 1 {
			return nil, fmt.Errorf("has the parameter %q: only one from is allowed", name)
		}
	}
	from, err := mail.ParseAddress(u.Query().Get("from"))
	if err != nil {
		return nil, errors.New("needs ?from= with the address of the sender")
	}
	s := &Server{host: u.Hostname(), from: from, options: []gomail.Option{gomail.WithTimeout(sendTimeout)}}
	port := 587
	switch {
	case u.Scheme == "smtps":
		port = 465
		s.options = append(s.options, gomail.WithSSL())
	case isLoopback(s.host):
		port = 25
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	default:
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return nil, errors.New("has a port that is not between 1 and 65535")
		}
	}
	s.options = append(s.options, gomail.WithPort(port))
	if u.User.Username() != "" {
		password, _ := u.User.Password()
		s.options = append(s.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	if _, err := gomail.NewClient(s.host, s.options...); err != nil {
		return nil, err
	}
	return s, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// A RefusedError is the answer of a server that will never accept a mail, such as for an unknown recipient.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the server.
func (e *RefusedError) Unwrap() error { return e.Err }

// Send sends a message. An error does not show the recipient, and says nothing of the texts.
func (s *Server) Send(ctx context.Context, m Message) error {
	msg, err := s.compose(m)
	if err != nil {
		return err
	}
	err = s.connect(ctx, func(ctx context.Context, client *gomail.Client) error {
		err := client.DialAndSendWithContext(ctx, msg)
		if msg.IsDelivered() { // a server that hangs up after it took the mail
			err = nil
		}
		return err
	})
	if err == nil {
		return nil
	}
	recipient := regexp.MustCompile("(?i)" + regexp.QuoteMeta(string(m.To))) // servers fold the case
	text := errors.New("mail: " + recipient.ReplaceAllLiteralString(err.Error(), "the recipient"))
	if e, ok := errors.AsType[*gomail.SendError](err); ok && e.Reason == gomail.ErrSMTPRcptTo &&
		e.ErrorCode()/100 == 5 {
		return &RefusedError{text}
	}
	return text
}

// Check connects to the server, with encryption and password as for a mail, and sends none.
func (s *Server) Check(ctx context.Context) error {
	err := s.connect(ctx, func(ctx context.Context, client *gomail.Client) error {
		if err := client.DialWithContext(ctx); err != nil {
			return err
		}
		return client.Close()
	})
	if err != nil {
		err = fmt.Errorf("mail: %w", err)
	}
	return err
}

// connect runs f with a client of the server, at most for sendTimeout.
func (s *Server) connect(ctx context.Context, f func(context.Context, *gomail.Client) error) error {
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f(ctx, client) }() // go-mail observes the end of the context while it connects only
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compose returns the MIME message. The sender of its envelope is that of its header.
func (s *Server) compose(m Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(string(m.To)); err != nil {
		return nil, &RefusedError{errors.New("mail: the address of the recipient is malformed")}
	}
	plain, rich, err := m.render()
	if err != nil {
		return nil, err
	}
	msg.Subject(m.Subject)
	msg.SetDate()
	msg.SetMessageID()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no automatic replies
	msg.SetBodyString(gomail.TypeTextPlain, plain)
	msg.AddAlternativeString(gomail.TypeTextHTML, rich)
	return msg, nil
}
