package web

import (
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/runes"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
)

// notOpened are schemes whose addresses belong to no program.
var notOpened = []string{"", "about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}

// leave sends the browser to the address of a client. A program on the device takes over an address with a scheme of
// its own: the browser then shows no page, so this one says that nothing is left to do.
func (v *Visit) leave(a httpapi.Authorization, location string, err error, message string) error {
	if err != nil {
		return v.startAgain(err)
	}
	u, err := url.Parse(location)
	if err != nil || slices.Contains(notOpened, u.Scheme) {
		return v.startAgain(loci.Errorf(loci.CodeInvalidQuery, "The program has an address that no browser may open."))
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		v.redirect = location
		return nil
	}
	v.template, v.Title, v.Done = "end", "You may close this window", true
	v.Client, v.Message, v.Address = plainName(a.ClientName), message, template.URL(location)
	v.w.Header().Set("Refresh", "1; url="+location) // after a second the page is loaded
	return nil
}

// readClient finds the program for which a person signs in.
func (v *Visit) readClient() {
	query, ok := strings.CutPrefix(v.Next, httpapi.AuthorizePath+"?")
	if !ok {
		return
	}
	if _, a, err := v.h.Authorizer.Authorize(v.r.Context(), query, v.call.Address); err == nil {
		v.Client = plainName(a.ClientName)
	}
}

// maxNameRunes is how much of a client's name a page shows.
const maxNameRunes = 100

// plainName returns the name of a client on one line, shortened, without characters that turn the direction of text.
func plainName(name string) string {
	name = runes.Remove(runes.In(unicode.Bidi_Control)).String(strings.ToValidUTF8(name, ""))
	line := []rune(strings.Join(strings.Fields(name), " "))
	switch {
	case len(line) > maxNameRunes:
		return string(line[:maxNameRunes]) + "…"
	case len(line) == 0:
		return "A program without a name"
	}
	return string(line)
}

// plainHost is a name or an IPv4 address, with or without a port.
var plainHost = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?$`)

// formSource returns the source that lets a form redirect to an address: its origin, or its scheme where no source
// names its host, as an IPv6 address (CSP Level 3, section 2.3.1). A browser also applies form-action to the redirect
// that answers a form.
func formSource(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return ""
	}
	if host := strings.ToLower(u.Host); plainHost.MatchString(host) && (u.Scheme == "http" || u.Scheme == "https") {
		return u.Scheme + "://" + host
	}
	return u.Scheme + ":"
}
