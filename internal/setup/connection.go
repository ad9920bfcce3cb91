package setup

import (
	"net/url"
	"slices"
	"strings"
)

// A Connection is how a client reaches Loci: it starts a program, or it calls a server.
type Connection struct {
	Command     string   `json:"command,omitzero"`
	Args        []string `json:"args,omitzero"`
	URL         string   `json:"url,omitzero"`         // of the MCP endpoint
	KeyVariable string   `json:"keyVariable,omitzero"` // names the variable with the key; empty: the client signs in
}

// Equal reports whether two connections are the same.
func (c Connection) Equal(other Connection) bool {
	return c.Command == other.Command && slices.Equal(c.Args, other.Args) && c.URL == other.URL &&
		c.KeyVariable == other.KeyVariable
}

// String describes the connection without what may be secret in a foreign entry: arguments and queries.
func (c Connection) String() string {
	switch {
	case c.URL == "" && c.startsLoci():
		return strings.Join(append([]string{c.Command}, c.Args...), " ")
	case c.URL == "":
		return c.Command
	case c.KeyVariable != "":
		return withoutSecrets(c.URL) + " with the key in " + c.KeyVariable
	}
	return withoutSecrets(c.URL)
}

// withoutSecrets returns an address without user, query and fragment.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that is none"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// isLoci reports whether the connection can be one that Loci wrote. self is the file of this program.
func (c Connection) isLoci(self string) bool {
	if c.URL == "" {
		return c.startsLoci() || self != "" && c.Command == self
	}
	u, err := url.Parse(c.URL)
	return err == nil && strings.HasSuffix(u.Path, "/mcp")
}

// startsLoci reports whether the command is loci mcp. Builds have names such as loci-1.2.
func (c Connection) startsLoci() bool {
	name := strings.ToLower(c.Command[strings.LastIndexAny(c.Command, `/\`)+1:])
	return strings.HasPrefix(name, "loci") && len(c.Args) > 0 && c.Args[0] == "mcp"
}

// mayReplace reports whether an old connection is surely one that Loci wrote: a program, or the same server.
func (c Connection) mayReplace(old Connection, self string) bool {
	if !old.isLoci(self) || old.URL == "" {
		return old.isLoci(self)
	}
	was, err := url.Parse(old.URL)
	is, err2 := url.Parse(c.URL)
	return err == nil && err2 == nil && was.Host == is.Host
}
