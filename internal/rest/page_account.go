package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// homePage writes the start page: sign in, connect a device, make an API key. A program that accepts other
// types alone gets the address of the API.
func (d *handler) homePage(w http.ResponseWriter, r *http.Request) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept != "" && !strings.Contains(accept, "text/html") && !strings.Contains(accept, "*/*") {
		httpapi.WriteError(w, r, nil, errNoRoute())
		return
	}
	_, user, err := d.pageCall(w, r)
	if err != nil {
		d.renderPage(w, r, "problem.html", d.newPageData(r, user), err)
		return
	}
	d.renderPage(w, r, "home.html", d.newPageData(r, user), nil)
}

func (d *handler) signInPage(w http.ResponseWriter, r *http.Request) {
	next := safeRedirectPath(r.URL.Query().Get("next"))
	_, user, err := d.pageCall(w, r)
	if user.ID != "" {
		redirect(w, r, next)
		return
	}
	v := d.newPageData(r, loci.User{})
	v.Next, v.Email = next, r.URL.Query().Get("email")
	d.renderPage(w, r, "signin.html", v, err)
}

func (d *handler) signInForm(w http.ResponseWriter, r *http.Request) {
	v := d.newPageData(r, loci.User{})
	f, err := parseForm(w, r)
	if err == nil {
		v.Next, v.Email = safeRedirectPath(f.Get("next")), f.Get("email")
		c := d.newCall(w, r)
		c.Transport = "page"
		var out any
		out, err = d.runOp(r, c, "auth.login",
			loci.Login{Email: loci.Email(v.Email), Password: loci.PasswordAttempt(f.Get("password"))})
		if err == nil {
			d.startSession(w, r, c, out)
			redirect(w, r, v.Next)
			return
		}
	}
	d.renderPage(w, r, "signin.html", v, err)
}

func (d *handler) signOutForm(w http.ResponseWriter, r *http.Request) {
	f, c, user, err := d.submitted(w, r)
	if err == nil && user.ID != "" {
		var out any
		if out, err = d.runOp(r, c, "auth.logout", loci.Empty{}); err == nil {
			http.SetCookie(w, d.newCookie(r, out.(cookieSetter).Cookie()))
		}
	}
	if err != nil {
		d.renderPage(w, r, "problem.html", d.newPageData(r, loci.User{}), err)
		return
	}
	redirect(w, r, safeRedirectPath(f.Get("next")))
}

// setupPage shows whether the setup link works. It does not use the link up.
func (d *handler) setupPage(w http.ResponseWriter, r *http.Request) {
	_, user, err := d.pageCall(w, r)
	if user.ID != "" {
		redirect(w, r, "/")
		return
	}
	v := d.newPageData(r, loci.User{})
	v.Token = r.URL.Query().Get("token")
	if err == nil && v.Token == "" {
		err = loci.Errorf(loci.CodeNotFound, "This page needs the whole setup link, which the server prints when it "+
			"starts.")
	}
	if err == nil {
		err = d.Pages.CheckSetup(r.Context(), v.Token)
	}
	v.Valid = err == nil
	d.renderPage(w, r, "setup.html", v, err)
}

// setupForm makes the first account and its first API key. A browser that sends the form again, as by a reload, is
// signed in by then. It gets the same key: the response is stored under the idempotency key, encrypted with the
// browser's cookie.
func (d *handler) setupForm(w http.ResponseWriter, r *http.Request) {
	v := d.newPageData(r, loci.User{})
	f, err := parseForm(w, r)
	if err != nil {
		d.renderPage(w, r, "problem.html", v, err)
		return
	}
	token := sha256.Sum256([]byte(f.Get("token")))
	c, user, err := d.pageCall(w, r)
	if used := d.setUpWith.Load(); err == nil && user.ID != "" && (used == nil || *used != token) {
		redirect(w, r, "/")
		return
	}
	if err == nil && user.ID == "" {
		v.Token, v.Email, v.Name = f.Get("token"), f.Get("email"), f.Get("name")
		var out any
		out, err = d.runOp(r, c, "auth.setup",
			loci.SetUp{Token: v.Token, Email: loci.Email(v.Email), Password: loci.Password(f.Get("password")),
				Name: loci.Name(v.Name)})
		if err == nil {
			d.startSession(w, r, c, out)
			d.setUpWith.Store(&token)
			user = out.(loci.SignedIn).User
		}
	}
	if err != nil {
		v.Valid = !loci.Is(err, loci.CodeNotFound)
		d.renderPage(w, r, "setup.html", v, err)
		return
	}
	d.createKey(w, r, c, user, "First key", "setup "+base64.RawURLEncoding.EncodeToString(token[:]))
}

func (d *handler) keyForm(w http.ResponseWriter, r *http.Request) {
	f, c, user, err := d.submitted(w, r)
	switch {
	case err != nil:
		d.renderPage(w, r, "problem.html", d.newPageData(r, loci.User{}), err)
	case user.ID == "":
		redirect(w, r, "/signin")
	default:
		d.createKey(w, r, c, user, f.Get("name"), f.Get("once"))
	}
}

// createKey makes an API key, or returns the stored one of the idempotency key, and shows it on the start page.
func (d *handler) createKey(w http.ResponseWriter, r *http.Request, c *op.Call, user loci.User,
	name, idempotencyKey string) {
	v := d.newPageData(r, user)
	c.IdempotencyKey, c.IdempotencyKeyCount = idempotencyKey, 1
	out, err := d.runOp(r, c, "key.create", loci.CreateKey{Name: loci.Name(name)})
	if err == nil {
		v.Key = out.(loci.CreatedKey).APIKey
	}
	d.renderPage(w, r, "home.html", v, err)
}
