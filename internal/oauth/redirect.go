package oauth

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxURI is the length of an address of a client.
const maxURI = 1024

// refusedSchemes are schemes that are no program of the person: browsers and systems act on their addresses themselves.
var refusedSchemes = []string{"about", "android-app", "blob", "chrome", "content", "data", "file", "filesystem", "ftp",
	"ftps", "intent", "jar", "javascript", "mailto", "ms-msdt", "resource", "search-ms", "sms", "tel", "urn",
	"vbscript", "view-source", "ws", "wss"}

// answerParams are the parameters of answers. A redirect that has one could forge an answer.
var answerParams = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

// uriText is the text of an address: printable ASCII that no reader of addresses repairs. A wildcard is refused,
// because redirects are compared exactly.
var uriText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:/[!$%&'()+,./0-9:;=?@A-Z\[\]_a-z~-]*$`)

// hostText is a name or a numeric address, without a port.
var hostText = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)$`)

// parseURI reads an absolute address without fragment and userinfo that every reader understands alike.
func parseURI(text string) (*url.URL, bool) {
	if len(text) > maxURI || !uriText.MatchString(text) {
		return nil, false
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || strings.Contains(u.Host, "@") {
		return nil, false
	}
	if u.Host == "" {
		return u, u.Scheme != "https" && u.Scheme != "http" && !strings.HasPrefix(u.Path, "//")
	}
	host, port := u.Host, u.Port()
	if port != "" {
		host = strings.TrimSuffix(host, ":"+port)
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port[0] == '0' {
			return nil, false
		}
	}
	return u, hostText.MatchString(host)
}

// checkRedirect refuses an address to which answers must not go. Allowed are https, http on this machine, and private
// schemes of programs (RFC 8252, section 7).
func checkRedirect(text string) error {
	u, ok := parseURI(text)
	if !ok || slices.Contains(refusedSchemes, u.Scheme) {
		return errorf(codeInvalidRedirect, "redirect_uris must be absolute addresses of at most %d ASCII characters, "+
			"without fragment, wildcard and userinfo: https, http on a loopback address, or a scheme of the program",
			maxURI)
	}
	if u.Scheme == "http" && !isLoopbackHost(u.Hostname()) {
		return errorf(codeInvalidRedirect, "redirect_uris may use http only with 127.0.0.1, [::1] or localhost")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil { // readers that repair the query could find a parameter of an answer in it
		return errorf(codeInvalidRedirect, "redirect_uris must have a percent-encoded query, or none")
	}
	for name := range query {
		if slices.Contains(answerParams, name) {
			return errorf(codeInvalidRedirect, "redirect_uris must not have a parameter of an answer, such as %s", name)
		}
	}
	return nil
}

func isLoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback())
}

// matchesRedirect reports whether a redirect is one of those that a client registered, byte for byte. The port of http
// on a loopback address may differ, because programs take a free one (RFC 8252, section 7.3).
func matchesRedirect(registered []string, given string) bool {
	if checkRedirect(given) != nil {
		return false
	}
	portless := withoutLoopbackPort(given)
	return slices.ContainsFunc(registered, func(r string) bool {
		return r == given || portless != "" && portless == withoutLoopbackPort(r)
	})
}

// withoutLoopbackPort returns a checked redirect without its port, or "" unless it is http on a loopback address.
func withoutLoopbackPort(text string) string {
	u, ok := parseURI(text)
	if !ok || u.Scheme != "http" || !isLoopbackHost(u.Hostname()) {
		return ""
	}
	scheme, rest, _ := strings.Cut(text, "://")
	return scheme + "://" + strings.TrimSuffix(u.Host, ":"+u.Port()) + rest[len(u.Host):]
}

// withParams returns an address with more parameters in its query.
func withParams(address string, params ...string) string {
	var b strings.Builder
	b.WriteString(address)
	separator := byte('?')
	if strings.Contains(address, "?") {
		separator = '&'
	}
	for i := 0; i+1 < len(params); i += 2 {
		b.WriteByte(separator)
		b.WriteString(url.QueryEscape(params[i]) + "=" + url.QueryEscape(params[i+1]))
		separator = '&'
	}
	return b.String()
}
