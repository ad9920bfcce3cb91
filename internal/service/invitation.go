package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
)

// CreateInvitations invites addresses into a workspace. One malformed address refuses them all. The links travel in
// mails alone, or in the response if the server sends no mail.
func (s *Service) CreateInvitations(ctx context.Context, actor *identity.Actor,
	in loci.CreateInvitations) (loci.CreatedInvitations, error) {
	addresses := make([]limit.Key, len(in.Emails))
	for i, e := range in.Emails {
		if !e.Valid() {
			return loci.CreatedInvitations{}, loci.Errorf(loci.CodeInvalidQuery,
				"emails[%d] must be an e-mail address", i)
		}
		addresses[i] = accountOf(e)
	}
	if s.SendMail == nil {
		return s.createInvitations(ctx, actor, in)
	}
	release, err := s.mailLimiter.Take(addresses)
	if err != nil {
		return loci.CreatedInvitations{}, err
	}
	out, err := s.createInvitations(ctx, actor, in)
	if err != nil || len(out.Invitations) == 0 || actor.Idempotency != nil && actor.Idempotency.Replayed {
		release() // no mail is sent
	}
	return out, err
}

func (s *Service) createInvitations(ctx context.Context, actor *identity.Actor,
	in loci.CreateInvitations) (loci.CreatedInvitations, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.CreatedInvitations, err error) {
		out.Invitations, out.Skipped = []loci.NewInvitation{}, []loci.SkippedInvitation{}
		w, err := tx.Workspace(in.WorkspaceID, loci.RoleAdmin, store.ToChange)
		if err == nil && s.SendMail != nil {
			err = w.RequireVerified()
		}
		if err != nil {
			return out, err
		}
		tx.LinkResponse(in.WorkspaceID)
		for _, e := range in.Emails {
			var token loci.InvitationToken
			if s.SendMail == nil {
				token = loci.InvitationToken(identity.NewSecret())
			}
			i, skipped, err := w.Invite(e, in.Role.RoleOrDefault(), in.ExpiresInDays.Duration(), tokenHash(token))
			if err != nil {
				return out, err
			}
			if skipped != "" {
				out.Skipped = append(out.Skipped, loci.SkippedInvitation{Email: string(e), Reason: skipped})
				continue
			}
			made := loci.NewInvitation{Invitation: i}
			if token != "" {
				made.InviteURL = s.inviteURL(i.ID, token)
			}
			out.Invitations = append(out.Invitations, made)
		}
		return out, s.finishInvitations(tx, w, out.Invitations)
	})
}

// finishInvitations checks the limits of new invitations, and sends their mails after the commit.
func (s *Service) finishInvitations(tx *store.Tx, w *store.Workspace, made []loci.NewInvitation) error {
	if len(made) == 0 {
		return nil
	}
	err := w.CheckPending(len(made))
	if err != nil || s.SendMail == nil {
		return err
	}
	if err := w.ChargeMails(len(made)); err != nil {
		return err
	}
	for _, i := range made {
		if err := tx.AddJob(mailInvitation, i.ID); err != nil {
			return err
		}
	}
	return nil
}

// ListInvitations lists the invitations of a workspace that the actor manages.
func (s *Service) ListInvitations(ctx context.Context, actor *identity.Actor,
	in loci.ListInvitations) (out loci.Invitations, err error) {
	out.Invitations, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Invitation], error) {
			return tx.Invitations(in.WorkspaceID, p)
		},
		invitationKey)
	return out, err
}

// ListPendingInvitations lists the invitations to the actor.
func (s *Service) ListPendingInvitations(ctx context.Context, actor *identity.Actor,
	in loci.ListPendingInvitations) (out loci.Invitations, err error) {
	out.Invitations, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Invitation], error) {
			return tx.PendingInvitations(p)
		},
		invitationKey)
	return out, err
}

// inviteURL returns the link of an invitation. Its token is written nowhere else.
func (s *Service) inviteURL(id loci.ID, t loci.InvitationToken) string {
	return s.PublicURL + "/invite?id=" + string(id) + "&token=" + string(t)
}

// ViewInvitation returns an invitation and the name of its inviter, for the
// page of its link. userID is the signed-in user, or empty.
func (s *Service) ViewInvitation(ctx context.Context, userID, id loci.ID,
	t loci.InvitationToken) (i loci.Invitation, inviter string, err error) {
	if !id.Valid() { // no transport has checked it, and PostgreSQL refuses some texts
		return i, "", loci.NewError(loci.CodeNotFound)
	}
	_, err = store.SystemRead(ctx, s.Store, "show an invitation to the holder of its link",
		func(x *store.SystemTx) (loci.Empty, error) {
			i, inviter, err = x.ViewInvitation(userID, id, tokenHash(t))
			return loci.Empty{}, err
		})
	return i, inviter, err
}

func invitationKey(i loci.Invitation) page.Key { return page.Key{At: i.CreatedAt, ID: i.ID} }

// RespondInvitation accepts or declines an invitation to the actor. The token
// of its link replaces a verified address, and verifies it.
func (s *Service) RespondInvitation(ctx context.Context, actor *identity.Actor,
	in loci.RespondInvitation) (loci.OneInvitation, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.OneInvitation, err error) {
		i, err := tx.IncomingInvitation(in.InvitationID, tokenHash(in.Token))
		if err != nil {
			return out, err
		}
		out.Invitation, err = i.Respond(in.Accept)
		tx.LinkResponse(out.Invitation.WorkspaceID)
		return out, err
	})
}

// tokenHash returns the hash that is stored of the token of an invitation's link, or nil without a token.
func tokenHash(t loci.InvitationToken) []byte {
	if t == "" {
		return nil
	}
	return identity.SecretHash(string(t))
}

// RevokeInvitation ends a pending invitation.
func (s *Service) RevokeInvitation(ctx context.Context, actor *identity.Actor,
	in loci.RevokeInvitation) (loci.Empty, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (loci.Empty, error) {
		return loci.Empty{}, tx.RevokeInvitation(in.InvitationID)
	})
}
