package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/url"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// redirectNext sends the browser to the next page.
func redirectNext(v *Visit, _ any) error {
	v.redirect = v.Next
	return nil
}

// readHome reads the policy of registration.
func readHome(v *Visit) error {
	v.Open, v.ByInvitation = v.mayRegister(""), v.mayRegister("any")
	hasUsers, err := v.h.Service.HasUsers(v.r.Context())
	v.NoUsers = err == nil && !hasUsers // the page is shown without it too
	return nil
}

// mayRegister reports whether the policy of the server allows a registration with the token of an invitation, which it
// does not look up.
func (v *Visit) mayRegister(invitation loci.InvitationToken) bool {
	return v.h.Service.CheckRegistration(v.r.Context(), "", invitation) == nil
}

// readSignIn sends a signed-in browser on.
func readSignIn(v *Visit) error {
	if v.User.ID != "" {
		v.redirect = v.Next
	}
	v.readClient()
	return readHome(v)
}

// readSetup shows whether the setup link works. It does not use the link up.
func readSetup(v *Visit) (err error) {
	if v.User.ID != "" {
		v.redirect = "/"
		return nil
	}
	if v.Values["token"] == "" {
		err = loci.Errorf(loci.CodeNotFound, "This page needs the whole setup link, which the server prints when it "+
			"starts.")
	} else {
		err = v.h.Service.CheckSetup(v.r.Context(), v.Values["token"])
	}
	v.Closed = err != nil
	return err
}

// setUpAgain handles a setup form that a browser sends again, as by a reload. It is signed in by then, and gets the
// same key: the response is stored under the idempotency key, encrypted with the browser's cookie.
func setUpAgain(v *Visit) (bool, error) {
	if v.User.ID == "" {
		return false, nil
	}
	token := sha256.Sum256([]byte(v.Form.Get("token")))
	if used := v.h.setUpWith.Load(); used == nil || *used != token {
		v.redirect = "/"
		return true, nil
	}
	return true, createFirstKey(v, token)
}

// showFirstKey makes the first API key after the first account.
func showFirstKey(v *Visit, out any) error {
	token := sha256.Sum256([]byte(v.Form.Get("token")))
	v.h.setUpWith.Store(&token)
	v.User = out.(loci.SignedIn).User
	return createFirstKey(v, token)
}

func createFirstKey(v *Visit, token [32]byte) error {
	v.template, v.Title = "home", "Loci"
	v.call.IdempotencyKey, v.call.IdempotencyKeyCount = "setup "+base64.RawURLEncoding.EncodeToString(token[:]), 1
	out, err := v.run("key.create", v.call, op.Args{Params: []op.Param{{Name: "name", Value: "First key"}}})
	if err != nil {
		return err
	}
	return showKey(v, out)
}

// showKey shows a new API key on the start page.
func showKey(v *Visit, out any) error {
	v.Key = out.(loci.CreatedKey).APIKey
	delete(v.Values, "name") // the form makes another one
	return nil
}

// showSent shows that the mail was sent.
func showSent(v *Visit, _ any) error {
	v.Sent = true
	return nil
}

// readRegister shows the invitation of the link, and whether the server allows the registration.
func readRegister(v *Visit) error {
	v.Next = registered(v)
	if v.User.ID != "" {
		v.redirect = v.Next
		return nil
	}
	v.readClient()
	if err := readHome(v); err != nil {
		return err
	}
	token := loci.InvitationToken(v.Values["invitation"])
	err := v.h.Service.CheckRegistration(v.r.Context(), loci.ReferralCode(v.Values["ref"]), token)
	if err == nil && v.Values["id"] != "" {
		err = v.viewInvitation(token)
	}
	if err == nil && token == "" && v.Values["ref"] != "" && v.Form == nil { // the operation of a form looks it up
		err = v.checkReferral()
	}
	v.Closed = v.Closed || err != nil
	return err
}

// checkReferral looks up the code of a referral link before the form is filled in. Where everybody may register, an
// unknown code is only said to have no effect.
func (v *Visit) checkReferral() error {
	err := v.h.Service.CheckReferral(v.r.Context(), loci.ReferralCode(v.Values["ref"]), v.call.Address)
	if v.Open && loci.Is(err, loci.CodeNotFound) {
		v.UnknownRef, err = true, nil
	}
	return err
}

// afterRegistration sends a new user to the invitation, or to the start page.
func afterRegistration(v *Visit, _ any) error {
	v.redirect = registered(v)
	return nil
}

// registered returns the path of the page after a registration.
func registered(v *Visit) string {
	if v.Values["id"] == "" {
		return v.Next
	}
	return withQuery("/invite", url.Values{"id": {v.Values["id"]}, "token": {v.Values["invitation"]}})
}

func checkVerifyLink(v *Visit) error { return v.checkLink(v.h.Service.CheckVerifyLink) }
func checkResetLink(v *Visit) error  { return v.checkLink(v.h.Service.CheckResetLink) }

// checkLink refuses a link that does not work. It does not use the link up.
func (v *Visit) checkLink(check func(ctx context.Context, token string) (loci.Email, error)) error {
	token := v.Values["token"]
	if token == "" {
		v.Closed = true
		return loci.Errorf(loci.CodeNotFound, "The link is not complete: open the whole link.")
	}
	email, err := check(v.r.Context(), token)
	v.Account = string(email)
	v.Closed = v.Closed || err != nil
	return err
}

// requireMail refuses what needs a mail on a server that sends none.
func requireMail(v *Visit) error {
	if v.h.Mail {
		return nil
	}
	v.Closed = true
	return loci.Errorf(loci.CodeStateConflict, "This server sends no mail: ask its operator for a new password.")
}

// signedOut forgets the user, whose sign-ins have ended.
func signedOut(v *Visit, _ any) error {
	v.User = loci.User{}
	return nil
}
