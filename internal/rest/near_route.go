package rest

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// comparablePath is a path that is compared with the routes, and may be a part of a message.
var comparablePath = regexp.MustCompile(`^[A-Za-z0-9._~/-]{1,200}$`)

// prefixes are segments at the beginning of a path that a client may have too many or too few of.
var prefixes = []string{"api", "v1", "v2"}

// errNoRoute returns the error for a path that does not exist. It names the nearest path that does: without an empty
// segment, with /v1, or with other words.
func (d *handler) errNoRoute(wrong string) error {
	if near := d.nearRoute(wrong); near != "" && near != wrong {
		return loci.Errorf(loci.CodeNotFound, "There is no such route: did you mean %s?", near)
	}
	return httpapi.ErrNoRoute()
}

// nearRoute returns the path of the nearest route, with the values of fields of the wrong path, or "".
func (d *handler) nearRoute(wrong string) (near string) {
	if !comparablePath.MatchString(wrong) {
		return ""
	}
	segments := split(path.Clean(wrong))
	for len(segments) > 1 && slices.Contains(prefixes, strings.ToLower(segments[0])) {
		segments = segments[1:]
	}
	versioned := append([]string{"v1"}, segments...)
	minDistance := len(versioned)
	for _, pattern := range d.patterns {
		for _, candidate := range [][]string{segments, versioned} {
			if path, distance := compare(pattern, candidate); path != "" && distance < minDistance {
				near, minDistance = path, distance
			}
		}
	}
	return near
}

// compare returns the path of a pattern with the values of the segments in the places of its fields, and the number of
// its words that differ. It returns "" unless each word is near.
func compare(pattern, segments []string) (path string, distance int) {
	if len(pattern) != len(segments) {
		return "", 0
	}
	for i, word := range pattern {
		switch given := segments[i]; {
		case strings.HasPrefix(word, "{"):
			word = given
		case strings.EqualFold(given, word):
		case op.Nearest(given, []string{word}) != "":
			distance++
		default:
			return "", 0
		}
		path += "/" + word
	}
	return path, distance
}

func split(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// routePatterns returns the segments of all paths, those with the fewest fields first: a word is nearer than a field.
func (d *handler) routePatterns(routes []httpapi.Route) (patterns [][]string) {
	for _, o := range d.Table.Ops {
		for _, p := range paths(o) {
			patterns = append(patterns, split(p))
		}
	}
	for _, r := range routes {
		patterns = append(patterns, split(r.Path()))
	}
	slices.SortStableFunc(patterns, func(a, b []string) int { return countFields(a) - countFields(b) })
	return patterns
}

func countFields(pattern []string) (n int) {
	for _, word := range pattern {
		if strings.HasPrefix(word, "{") {
			n++
		}
	}
	return n
}
