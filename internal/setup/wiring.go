package setup

import "github.com/loci-memory/loci"

// A wiring is the place and form in which a client reports its turns to loci hook, or to loci acp.
type wiring struct {
	adapter loci.Adapter
	file    location
	form    hookForm
	editor  *Client // an editor: the entry of an agent, which loci acp starts; file and form are unused
	next    string  // tells the person what remains to do
}

// A hookForm is the form of hooks in a file.
type hookForm interface {
	parse(text []byte) (document, error)
	// command returns the program that the hooks of Loci start, or nil without hooks of Loci.
	command(c Change, f candidate) (*Connection, error)
	edit(c Change, f candidate) (after []byte, action Action, err error)
}

// HasHooks reports whether Loci can wire automatic memory into the client.
func (c *Client) HasHooks() bool { return c.hooks != nil }

// Adapter returns the adapter of the client's hooks.
func (c *Client) Adapter() loci.Adapter { return c.hooks.adapter }

// StartsAgent reports whether the hooks are an entry that starts an agent behind loci acp.
func (c *Client) StartsAgent() bool { return c.hooks != nil && c.hooks.editor != nil }

// HooksHint returns what remains to be done after hooks were wired.
func (c *Client) HooksHint() string { return c.hooks.next }

// HookArgs returns the arguments with which hooks of the client start Loci. agent is the command of an editor's agent.
func (c *Client) HookArgs(target, agent []string) []string {
	if c.StartsAgent() {
		return append(append(append([]string{"acp"}, target...), "--"), agent...)
	}
	return append([]string{"hook", string(c.hooks.adapter)}, target...)
}

// resolve returns the change of an editor's hooks as that of an entry.
func (c Change) resolve() Change {
	if c.Hooks && c.Client.StartsAgent() {
		c.Client, c.Hooks = c.Client.hooks.editor, false
	}
	return c
}

// location returns the files of the change and their folder.
func (c Change) location() (l location, dir string) {
	switch {
	case c.Project != "":
		return c.Client.project, c.Project
	case c.Hooks:
		l = c.Client.hooks.file
	default:
		l = c.Client.user
	}
	return l, c.System.dir(l)
}

func (c Change) parse(text []byte) (document, error) {
	if c.Hooks {
		return c.Client.hooks.form.parse(text)
	}
	return c.Client.parse(text)
}

// isIn reports whether a file has the entry, or hooks of Loci.
func (c Change) isIn(f candidate) (found bool, err error) {
	if c.Hooks {
		to, err := c.Client.hooks.form.command(c, f)
		return to != nil, err
	}
	_, found, err = f.Value(c.Client.container, c.Entry)
	return found, err
}

// HookNames returns the names of the clients that Loci can wire.
func HookNames() (names []string) {
	for i := range clients {
		if clients[i].HasHooks() {
			names = append(names, clients[i].Name)
		}
	}
	return names
}
