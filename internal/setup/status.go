package setup

import (
	"os"

	"github.com/loci-memory/loci"
)

// A Status says whether a client is installed and connected.
type Status struct {
	Client     string      `json:"client"`
	Title      string      `json:"title"`
	Installed  bool        `json:"installed"` // its program or its folder is there
	Scope      string      `json:"scope"`     // user or project
	File       string      `json:"file"`
	Connected  bool        `json:"connected"`
	Connection *Connection `json:"connection,omitzero"`
	Problem    string      `json:"problem,omitzero"` // a malformed file, or an entry of somebody else
	Hooks      *HookStatus `json:"hooks,omitzero"`   // of a client that Loci can wire, in its user's file
}

// A HookStatus says whether automatic memory is wired into a client.
type HookStatus struct {
	Wired   bool        `json:"wired"`
	File    string      `json:"file"`
	Command *Connection `json:"command,omitzero"` // the hooks start it
	Problem string      `json:"problem,omitzero"`
}

// List returns the state of all clients, and that of their files in a project which have the entry. find looks up a
// program on the PATH.
func List(system System, entry, project string, find func(program string) bool) (all []Status) {
	for i := range clients {
		c := &clients[i]
		s := Status{Client: c.Name, Title: c.Title, Scope: "user"}
		if c.HasConnection() {
			s = Change{Client: c, System: system, Entry: entry}.status("user")
		}
		s.Installed = c.isInstalled(system, find)
		if c.HasHooks() {
			hooks := Change{Client: c, System: system, Entry: entry, Hooks: true}.hookStatus()
			s.Hooks = &hooks
		}
		all = append(all, s)
		if !c.HasProject() {
			continue
		}
		here := Change{Client: c, System: system, Entry: entry, Project: project}.status("project")
		if here.Installed = s.Installed; here.Connected || here.Problem != "" {
			all = append(all, here)
		}
	}
	return all
}

// status reads the entry of a file.
func (c Change) status(scope string) Status {
	s := Status{Client: c.Client.Name, Title: c.Client.Title, Scope: scope}
	f, err := c.open()
	if err != nil {
		s.Problem = loci.AsError(err).Message
		return s
	}
	s.File = f.path
	entry, found, err := f.Value(c.Client.container, c.Entry)
	if err != nil || !found {
		if err != nil {
			s.Problem = err.Error()
		}
		return s
	}
	to, _, ok := c.Client.read(entry)
	if !ok || !to.isLoci(c.System.Self) {
		s.Problem = "the entry is not one of Loci"
		return s
	}
	to.URL = withoutSecrets(to.URL)
	s.Connected, s.Connection = true, &to
	return s
}

// hookStatus reads the hooks of a client.
func (c Change) hookStatus() (s HookStatus) {
	if c.Client.StartsAgent() {
		entry := c.resolve().status("user")
		return HookStatus{entry.Connected, entry.File, entry.Connection, entry.Problem}
	}
	f, err := c.open()
	if err != nil {
		s.Problem = loci.AsError(err).Message
		return s
	}
	s.File = f.path
	if s.Command, err = c.Client.hooks.form.command(c, f); err != nil {
		s.Problem = inFile(f.path, err).Error()
	}
	s.Wired = s.Command != nil
	return s
}

// isInstalled reports whether the program of a client, or the folder of its file, is there.
func (c *Client) isInstalled(system System, find func(program string) bool) bool {
	for _, p := range c.programs {
		if find(p) {
			return true
		}
	}
	l, _ := Change{Client: c, System: system, Hooks: !c.HasConnection()}.location()
	dir := system.dir(l)
	if dir == "" || dir == system.home() || dir == system.config() {
		return false
	}
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
