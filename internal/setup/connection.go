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
	Agent       bool     `json:"agent,omitzero"`       // calls of the server name the agent of the key
}

// Equal reports whether two connections are the same.
func (c Connection) Equal(other Connection) bool {
	return c.Command == other.Command && slices.Equal(c.Args, other.Args) && c.URL == other.URL &&
		c.KeyVariable == other.KeyVariable && c.Agent == other.Agent
}

// String describes the connection without what may be secret in a foreign entry: arguments and queries.
func (c Connection) String() string {
	switch {
	case c.URL == "" && c.startsLoci():
		return strings.Join(append([]string{c.Command}, c.Args...), " ")
	case c.URL == "":
		return c.Command
	case c.Agent:
		return withoutSecrets(c.URL) + " as the agent of the key in " + c.KeyVariable
	case c.KeyVariable != "":
		return withoutSecrets(c.URL) + " with the key in " + c.KeyVariable
	}
	return withoutSecrets(c.URL)
}

// host describes the connection of an entry that may be foreign: its address may hold a secret.
func (c Connection) host() string {
	if u, err := url.Parse(c.URL); c.URL != "" && err == nil {
		return u.Scheme + "://" + u.Host
	}
	return c.String()
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

// AgentFlag makes loci mcp act as the agent of the key.
const AgentFlag = "--agent"

// bridges are the commands of Loci that clients start.
var bridges = []string{"mcp", "hook", "acp"}

// startsLoci reports whether the command is loci mcp, hook or acp. Builds have names such as loci-1.2.
func (c Connection) startsLoci() bool {
	name := strings.ToLower(c.Command[strings.LastIndexAny(c.Command, `/\`)+1:])
	return strings.HasPrefix(name, "loci") && len(c.Args) > 0 && slices.Contains(bridges, c.Args[0])
}

// isPlain reports whether the connection has only what Loci writes: no arguments and no query of the person.
func (c Connection) isPlain() bool {
	switch agent, last := slices.Index(c.Args, "--"), len(c.Args)-2; {
	case c.URL != "":
		return !strings.ContainsAny(c.URL, "?#")
	case last >= 0 && c.Args[0] == "mcp" && c.Args[last+1] == AgentFlag:
		return Connection{Command: c.Command, Args: c.Args[:last+1]}.isPlain()
	case agent > 0: // loci acp, with the command of an agent
		return Connection{Command: c.Command, Args: c.Args[:agent]}.isPlain()
	case last > 0 && c.Args[last] == "--workspace-id":
		return Connection{Command: c.Command, Args: c.Args[:last]}.isPlain()
	case len(c.Args) > 2:
		return c.Args[1] == "--server" && (len(c.Args) == 3 || len(c.Args) == 4 && c.Args[3] == "--plain-http")
	}
	return len(c.Args) < 2 || c.Args[1] == "--local"
}

// refines reports whether the connection is the other one with arguments or a query that the person added.
func (c Connection) refines(other Connection) bool {
	if c.isPlain() || c.KeyVariable != other.KeyVariable || c.Agent != other.Agent ||
		(c.URL == "") != (other.URL == "") {
		return false
	}
	if c.URL != "" {
		endpoint, _, _ := strings.Cut(c.URL, "?")
		return endpoint == other.URL
	}
	return len(c.Args) > len(other.Args) && slices.Equal(c.Args[:len(other.Args)], other.Args)
}

// mayReplace reports whether an old connection is surely one that Loci wrote: a program, or the same server.
func (c Connection) mayReplace(old Connection, self string) bool {
	if !old.isLoci(self) || !old.isPlain() {
		return false
	}
	if old.URL == "" {
		return true
	}
	was, err := url.Parse(old.URL)
	is, err2 := url.Parse(c.URL)
	return err == nil && err2 == nil && was.Host == is.Host
}
