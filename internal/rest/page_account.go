package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// homePage is the start page: sign in, connect a device, make an API key. A program
// that asks for no page is told where the API is.
func (d *door) homePage(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html") {
		d.fail(w, r, &op.Call{}, noRoute())
		return
	}
	_, who, err := d.visitor(w, r)
	if err != nil {
		d.show(w, "problem.html", d.view(r, who), err)
		return
	}
	d.show(w, "home.html", d.view(r, who), nil)
}

func (d *door) signInPage(w http.ResponseWriter, r *http.Request) {
	next := ownPath(r.URL.Query().Get("next"))
	_, who, err := d.visitor(w, r)
	if who.ID != "" {
		forward(w, r, next)
		return
	}
	v := d.view(r, loci.User{})
	v.Next, v.Email = next, r.URL.Query().Get("email")
	d.show(w, "signin.html", v, err)
}

func (d *door) signInForm(w http.ResponseWriter, r *http.Request) {
	v := d.view(r, loci.User{})
	f, err := form(w, r)
	if err == nil {
		v.Next, v.Email = ownPath(f.Get("next")), f.Get("email")
		c := d.call(w, r)
		c.Door = "page"
		var out any
		out, err = d.perform(r, c, "auth.login",
			loci.SignIn{Email: loci.Email(v.Email), Password: loci.PasswordTry(f.Get("password"))})
		if err == nil {
			d.signIn(w, r, c, out)
			forward(w, r, v.Next)
			return
		}
	}
	d.show(w, "signin.html", v, err)
}

func (d *door) signOutForm(w http.ResponseWriter, r *http.Request) {
	f, c, who, err := d.submitted(w, r)
	if err == nil && who.ID != "" {
		var out any
		if out, err = d.perform(r, c, "auth.logout", loci.Nothing{}); err == nil {
			http.SetCookie(w, d.cookie(r, out.(cookied).Cookie()))
		}
	}
	if err != nil {
		d.show(w, "problem.html", d.view(r, loci.User{}), err)
		return
	}
	forward(w, r, ownPath(f.Get("next")))
}

// setupPage shows at once whether the setup link works. It uses nothing up.
func (d *door) setupPage(w http.ResponseWriter, r *http.Request) {
	_, who, err := d.visitor(w, r)
	if who.ID != "" {
		forward(w, r, "/")
		return
	}
	v := d.view(r, loci.User{})
	v.Token = r.URL.Query().Get("token")
	if err == nil && v.Token == "" {
		err = loci.Fail(loci.NotFound, "This page needs the whole setup link, which the server prints when it starts.")
	}
	if err == nil {
		err = d.Pages.CheckSetup(r.Context(), v.Token)
	}
	v.Valid = err == nil
	d.show(w, "setup.html", v, err)
}

// setupForm makes the first account and its first API key. A browser that sends the
// form again, as a reload does, is signed in by then, and is shown the same key: the
// answer is kept under the idempotency key, sealed with the browser's cookie.
func (d *door) setupForm(w http.ResponseWriter, r *http.Request) {
	v := d.view(r, loci.User{})
	f, err := form(w, r)
	if err != nil {
		d.show(w, "problem.html", v, err)
		return
	}
	c, who, err := d.visitor(w, r)
	if err == nil && who.ID == "" {
		v.Token, v.Email, v.Name = f.Get("token"), f.Get("email"), f.Get("name")
		var out any
		out, err = d.perform(r, c, "auth.setup",
			loci.SetUp{Token: v.Token, Email: loci.Email(v.Email), Password: loci.Password(f.Get("password")),
				Name: loci.Name(v.Name)})
		if err == nil {
			d.signIn(w, r, c, out)
			who = out.(loci.SignedIn).User
		}
	}
	if err != nil {
		v.Valid = !loci.Is(err, loci.NotFound)
		d.show(w, "setup.html", v, err)
		return
	}
	sum := sha256.Sum256([]byte(f.Get("token")))
	d.makeKey(w, r, c, who, "First key", "setup "+base64.RawURLEncoding.EncodeToString(sum[:]))
}

func (d *door) keyForm(w http.ResponseWriter, r *http.Request) {
	f, c, who, err := d.submitted(w, r)
	switch {
	case err != nil:
		d.show(w, "problem.html", d.view(r, loci.User{}), err)
	case who.ID == "":
		forward(w, r, "/signin")
	default:
		d.makeKey(w, r, c, who, f.Get("name"), f.Get("once"))
	}
}

// makeKey makes an API key, or finds the one that was made under the idempotency
// key, and shows it on the start page.
func (d *door) makeKey(w http.ResponseWriter, r *http.Request, c *op.Call, who loci.User, name, once string) {
	v := d.view(r, who)
	c.IdempotencyKey, c.Keys = once, 1
	out, err := d.perform(r, c, "key.create", loci.CreateKey{Name: loci.Name(name)})
	if err == nil {
		v.Key = out.(loci.CreatedKey).APIKey
	}
	d.show(w, "home.html", v, err)
}
