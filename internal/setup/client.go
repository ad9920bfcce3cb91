package setup

import (
	"slices"
	"strings"
)

// A Client is a program that speaks MCP, and the place and form of its entries.
type Client struct {
	Name    string   // in commands
	Aliases []string // other names in commands
	Title   string   // for people

	programs []string // names of its program; empty: only its folder shows that it is installed
	user     location // of the file of the person
	project  location // of the file of a project; empty where the client has none

	toml      bool   // the format; else JSON, in which comments and trailing commas may stand
	container string // the object of all entries
	stdio     template
	http      template // a server to which the client signs in; empty where the client has none
	key       template // a server with a key from a variable; empty where the client has none
	agent     template // the same, with the header that names the agent of the key

	hooks *wiring // of automatic memory; nil where Loci knows none

	absolute bool   // the client does not see the PATH of a shell
	signIn   string // tells how to sign in: <name> is the name of the entry
	httpHelp string // tells what to do where http is empty
}

// Lookup returns the client of that name, or nil.
func Lookup(name string) *Client {
	name = strings.ToLower(name)
	for i := range clients {
		if c := &clients[i]; c.Name == name || slices.Contains(c.Aliases, name) {
			return c
		}
	}
	return nil
}

// Names returns the names of all clients.
func Names() (names []string) {
	for _, c := range clients {
		names = append(names, c.Name)
	}
	return names
}

// HasConnection reports whether the client has a file that lists MCP servers. Of others Loci knows the hooks alone.
func (c *Client) HasConnection() bool { return c.container != "" }

// HasProject reports whether the client reads a file in a project.
func (c *Client) HasProject() bool { return len(c.project.files) > 0 }

// HasHTTP reports whether an entry of the client can name a server.
func (c *Client) HasHTTP() bool { return c.http != "" }

// HTTPHelp tells a person how the client reaches a server where its file cannot name one.
func (c *Client) HTTPHelp() string { return c.httpHelp }

// HasKey reports whether an entry of the client can refer to a variable with a key.
func (c *Client) HasKey() bool { return c.key != "" }

// HasAgent reports whether an entry of the client can send the header that names an agent.
func (c *Client) HasAgent() bool { return c.agent != "" }

// NeedsAbsolutePath reports whether an entry needs the whole path of a program.
func (c *Client) NeedsAbsolutePath() bool { return c.absolute }

// SignInHint tells a person how to sign in to an entry of that name.
func (c *Client) SignInHint(name string) string { return strings.ReplaceAll(c.signIn, "<name>", name) }

// template returns the template for a connection.
func (c *Client) template(to Connection) template {
	switch {
	case to.URL == "":
		return c.stdio
	case to.KeyVariable == "":
		return c.http
	case to.Agent:
		return c.agent
	}
	return c.key
}

// read returns the connection of an entry. extra reports that the entry has settings which Loci does not write.
func (c *Client) read(entry any) (to Connection, extra, ok bool) {
	for _, t := range []template{c.agent, c.key, c.http, c.stdio} {
		if t == "" {
			continue
		}
		if to, extra, ok = t.match(entry); ok {
			return to, extra, true
		}
	}
	return Connection{}, false, false
}
