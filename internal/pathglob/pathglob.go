// Package pathglob matches paths of any operating system with globs, for the excluded paths of a policy.
//
// The syntax is that of doublestar: * and ? match within one folder, ** matches any folders, [a-z] a character, {a,b}
// alternatives. A pattern without a leading slash matches at any depth: secret/** matches /home/ann/secret and all
// below it. A backslash is a separator in patterns and paths, so it escapes nothing. Upper and lower case differ.
package pathglob

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxAlternatives bounds the groups {a,b} of a pattern: the time of a match multiplies with each.
const maxAlternatives = 2

// Validate reports the error of a pattern.
func Validate(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("must not be empty")
	case strings.HasPrefix(pattern, "~"):
		return errors.New("must not begin with ~: write the path of the home folder, or **/ and the folder")
	case strings.Count(pattern, "{") > maxAlternatives:
		return errors.New("must have at most 2 groups of alternatives {a,b}: write several patterns")
	case !doublestar.ValidatePattern(slashes(pattern)):
		return errors.New("is no valid glob: close its brackets and braces, as in src/**/*.{key,pem}")
	}
	return nil
}

// Match reports whether a path matches a pattern. An invalid pattern matches nothing.
func Match(pattern, name string) bool {
	if name == "" || Validate(pattern) != nil {
		return false
	}
	pattern, name = slashes(pattern), path.Clean(slashes(name))
	if len(pattern) > 1 {
		pattern = strings.TrimSuffix(pattern, "/")
	}
	if !strings.HasPrefix(pattern, "/") {
		pattern, name = strings.TrimPrefix(pattern, "./"), strings.TrimPrefix(name, "/")
		return doublestar.MatchUnvalidated(pattern, name) || doublestar.MatchUnvalidated("**/"+pattern, name)
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

// MatchAny reports whether one of several paths matches one of several patterns. An empty path matches nothing.
func MatchAny(patterns []string, paths ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(paths, func(name string) bool { return Match(pattern, name) })
	})
}

func slashes(s string) string { return strings.ReplaceAll(s, `\`, "/") }
