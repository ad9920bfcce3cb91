package server

import (
	"context"
	"net"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/server/listen"
)

// sendMail returns the function that sends mails, or nil if none is to be sent.
func (s Settings) sendMail() func(context.Context, mail.Message) error {
	if s.Mail == nil {
		return nil
	}
	return s.Mail.Send
}

// SendTestMail sends a mail to an address, so that an operator can try the settings.
func (s Settings) SendTestMail(ctx context.Context, to string) error {
	email := Address(to)
	if !email.Valid() {
		return loci.Errorf(loci.CodeInvalidQuery, "%q is no e-mail address", to)
	}
	if s.Mail == nil {
		return loci.Errorf(loci.CodeStateConflict, "LOCI_SMTP_URL is not set: the server sends no mail.")
	}
	return s.Mail.Send(ctx, mail.Test(email, s.linkURL()))
}

// linkURL returns the address with which the links of operators' commands begin.
func (s Settings) linkURL() string {
	if s.PublicURL != "" {
		return s.PublicURL
	}
	addr, err := net.ResolveTCPAddr("tcp", s.Listen)
	if err != nil {
		return "http://" + s.Listen
	}
	return listen.URLs(addr)[0]
}
