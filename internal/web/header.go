package web

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// A place is a link of the header of the console.
type place struct{ Path, Label, Icon string }

// places and menu are the links of the header, in order. One whose page the server does not have is left out.
var (
	places = []place{
		{consolePath, "Memories", "memories"},
		{consolePath + "/approvals", "Approvals", "approvals"},
		{consolePath + "/sessions", "Sessions", "sessions"},
		{consolePath + "/automatic", "Automatic", "automatic"},
		{consolePath + "/atlases", "Atlases", "atlases"},
		{consolePath + "/workspaces", "Workspace", "workspace"},
	}
	menu = []place{
		{connectPath, "Connect an agent", "agent"},
		{consolePath + "/account", "Account, keys, browsers", "key"},
		{consolePath + "/usage", "Plan and usage", "fact"},
		{consolePath + "/cleanup", "Clean up", "trash"},
	}
)

// A header has the contents of the header of the console.
type header struct {
	Place        string // path of the place that is marked
	Places, Menu []place
	Waiting      loci.Waiting
	Theme        string // light, dark, or "" for that of the device
}

// Count returns the number that waits at a place, or "".
func (h *header) Count(p place) string {
	switch {
	case p.Path != consolePath+"/approvals" || h.Waiting.Candidates == 0:
		return ""
	case h.Waiting.Candidates >= loci.MaxWaiting:
		return "99+"
	}
	return fmt.Sprint(h.Waiting.Candidates)
}

// readHeader reads what the header shows. A page is shown without the counts too.
func (v *Visit) readHeader() {
	v.Place, v.Theme, v.Self = v.page.Place, v.theme(), v.self()
	v.Places, v.Menu = v.h.has(places), v.h.has(menu)
	part := v.r.Header.Get("HX-Request") != "" && v.r.Header.Get("HX-History-Restore-Request") == ""
	if v.User.ID == "" || part || v.h.Table.Op("account.status") == nil { // a part of a page is kept without its header
		return
	}
	if s, err := Read[loci.AccountStatus](v, "account.status"); err == nil {
		v.Waiting = s.Waiting
	}
}

// has returns the places whose pages the server has.
func (h *handler) has(all []place) []place {
	return slices.DeleteFunc(slices.Clone(all), func(p place) bool {
		return !slices.ContainsFunc(h.pages, func(own Page) bool { return own.Path == p.Path })
	})
}

// themeCookie is the name of the cookie of the chosen colors.
const themeCookie = "loci_theme"

// theme returns the chosen colors.
func (v *Visit) theme() string {
	if c, err := v.r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// setTheme keeps the chosen colors in a cookie.
func setTheme(v *Visit) error {
	c := &http.Cookie{Name: themeCookie, Value: v.Form.Get("theme"), Path: "/",
		MaxAge: int(365 * 24 * time.Hour / time.Second), Secure: !v.Insecure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(v.w, c)
	v.redirect = v.Next
	return nil
}

// functions are those of the templates.
var functions = template.FuncMap{"asset": asset, "icon": icon, "when": when, "day": day, "size": size,
	"initials": initials}

// icon returns a picture of the sprite, beside a word that says the same.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" aria-hidden="true"><use href="` + asset("icons.svg") + "#" +
		template.HTMLEscapeString(name) + `"/></svg>`)
}

// when returns a time as an element, which the script shows in the zone of the reader.
func when(t loci.Time) template.HTML {
	if t == 0 {
		return ""
	}
	return template.HTML(`<time datetime="` + t.Std().Format(time.RFC3339) + `">` +
		t.Std().Format("2 Jan 2006") + "</time>")
}

// size returns a number of bytes for people.
func size(n int64) string {
	unit, f := 0, float64(n)
	for f >= 1000 && unit < 3 {
		f, unit = f/1000, unit+1
	}
	if unit == 0 || f >= 10 {
		return fmt.Sprintf("%.0f %s", f, []string{"bytes", "KB", "MB", "GB"}[unit])
	}
	return fmt.Sprintf("%.1f %s", f, []string{"bytes", "KB", "MB", "GB"}[unit])
}

// initials returns the first letters of at most two words of a name.
func initials(name string) (letters string) {
	for i, word := range strings.Fields(name) {
		if first, n := utf8.DecodeRuneInString(word); i < 2 && n > 0 {
			letters += strings.ToUpper(string(first))
		}
	}
	return letters
}
