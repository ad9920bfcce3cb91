package service

import (
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
)

// Kinds of background jobs that send a mail. The subject is the id of a user or of an invitation.
const (
	mailVerification = "mail_verification"
	mailReset        = "mail_reset"
	mailInvitation   = "mail_invitation"
)

// maxMailAge is how long a mail is retried (RFC 5321, section 4.5.4.1).
const maxMailAge = 5 * 24 * time.Hour

// handleMails registers the jobs that send mails.
func (s *Service) handleMails() {
	jobs := s.Store.Jobs()
	jobs.Handle(mailVerification, s.mailHandler(s.userMail(accountdb.VerifyToken, mail.Verification)))
	jobs.Handle(mailReset, s.mailHandler(s.userMail(accountdb.ResetToken, mail.Reset)))
	jobs.Handle(mailInvitation, s.mailHandler(s.invitationMail))
}

// A composer returns the mail about a record, with a new link. NotFound means that nobody needs the mail any more.
type composer func(ctx context.Context, id loci.ID) (mail.Message, error)

// mailHandler returns the handler of jobs that send a mail.
func (s *Service) mailHandler(compose composer) jobdb.Handler {
	return func(ctx context.Context, j jobdb.Job) error {
		if s.Store.Now().Std().Sub(j.AddedAt.Std()) > maxMailAge {
			return &jobdb.DroppedError{Err: errors.New("the mail could not be sent for five days")}
		}
		m, err := compose(ctx, loci.ID(j.Subject))
		if loci.Is(err, loci.CodeNotFound) {
			return nil
		}
		if err == nil {
			err = s.SendMail(ctx, m)
		}
		if _, refused := errors.AsType[*mail.RefusedError](err); refused {
			return &jobdb.DroppedError{Err: err}
		}
		return err
	}
}

// userMail returns the composer of mails to a user with a link of a kind. A second mail of one job, after a kill, has
// another link, and both work.
func (s *Service) userMail(kind accountdb.TokenKind, write func(loci.Email, string, time.Time) mail.Message) composer {
	return func(ctx context.Context, id loci.ID) (mail.Message, error) {
		return store.System(ctx, s.Store, "make the link of a mail to a user",
			func(t *store.SystemTx) (mail.Message, error) {
				u, err := t.User(id)
				if err != nil {
					return mail.Message{}, err
				}
				link, expires, err := s.addLink(t, id, kind)
				return write(loci.Email(u.Email), link, expires.Std()), err
			})
	}
}

// addLink makes a link to a user. Of its token only the hash is stored.
func (s *Service) addLink(t *store.SystemTx, userID loci.ID,
	kind accountdb.TokenKind) (link string, expires loci.Time, err error) {
	token := identity.NewSecret()
	expires, err = t.AddToken(userID, kind, identity.SecretHash(token))
	return s.PublicURL + "/" + string(kind) + "?token=" + token, expires, err
}

// invitationMail is the composer of mails with invitations.
func (s *Service) invitationMail(ctx context.Context, id loci.ID) (mail.Message, error) {
	return store.System(ctx, s.Store, "make the link of an invitation's mail",
		func(t *store.SystemTx) (m mail.Message, err error) {
			token := loci.InvitationToken(identity.NewSecret())
			i, inviter, err := t.AddInvitationToken(id, tokenHash(token))
			if err != nil {
				return m, err
			}
			return mail.Invitation(loci.Email(i.Email), inviter, i.WorkspaceName, i.Role, s.inviteURL(id, token),
				i.ExpiresAt.Std()), nil
		})
}

// requireMail refuses what needs mail, alike for every address.
func (s *Service) requireMail() error {
	if s.SendMail == nil {
		return loci.Errorf(loci.CodeStateConflict, "This server sends no mail: ask its operator.")
	}
	return nil
}
