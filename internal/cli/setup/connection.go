package setup

import (
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/setup"
)

// checkVariable rejects what is no name, above all a key itself, which looks like one. The message does not repeat it.
func checkVariable(name string) error {
	isCredential := slices.ContainsFunc([]string{loci.KeyPrefix, loci.AccessTokenPrefix, loci.RefreshTokenPrefix},
		func(prefix string) bool { return strings.HasPrefix(strings.ToLower(name), prefix) })
	if isCredential || !setup.ValidVariable(name) {
		return command.UsageError("--key-env takes the name of an environment variable, such as LOCI_API_KEY, not " +
			"the key itself")
	}
	return nil
}

// connection returns how the client shall reach Loci.
func (o Options) connection(c *setup.Client, f flags) (to setup.Connection, err error) {
	if f.keyVariable != "" {
		if err := checkVariable(f.keyVariable); err != nil {
			return to, err
		}
	}
	target, err := o.Target()
	if err != nil {
		return to, err
	}
	stdio := f.stdio || target.Server == "" || !c.HasHTTP() && !target.Named
	if f.asAgent {
		if err := checkAgent(c, f, target, stdio); err != nil {
			return to, err
		}
	}
	switch {
	case stdio && f.keyVariable != "":
		return to, command.UsageError("--key-env is for a server: loci mcp takes LOCI_API_KEY from its " +
			"environment, or the login")
	case stdio:
		return o.program(c, f, target)
	case !c.HasHTTP():
		return to, command.UsageError(c.HTTPHelp())
	case f.keyVariable != "" && !c.HasKey():
		return to, command.UsageError(c.Title + " cannot take a key from a variable: leave out --key-env to sign in " +
			"there, or use --stdio with a login")
	}
	to.KeyVariable, to.Agent = f.keyVariable, f.asAgent
	to.URL, err = endpoint(target.Server, target.PlainHTTP)
	return to, err
}

// checkAgent returns an error if a client cannot act as an agent.
func checkAgent(c *setup.Client, f flags, target Target, stdio bool) error {
	switch {
	case target.Server == "":
		return command.UsageError("--agent is for a server: a database on this device has no agents")
	case stdio && target.ByBrowser:
		return command.UsageError("--agent needs an API key, and the login is by browser: create a key at " +
			target.Server + ", and run loci login " + target.Server + " --key -")
	case stdio || !c.HasHTTP():
		return nil
	case !c.HasAgent():
		return command.UsageError("the entry of " + c.Title + " cannot have headers with a key: use --stdio with a " +
			"login by an API key")
	case f.keyVariable == "":
		return command.UsageError("--agent needs an API key: add --key-env LOCI_API_KEY, or --stdio with a login by " +
			"an API key")
	}
	return nil
}

// program returns the connection that starts loci mcp.
func (o Options) program(c *setup.Client, f flags, target Target) (to setup.Connection, err error) {
	args, err := target.args()
	if err != nil {
		return to, err
	}
	to.Args = append([]string{"mcp"}, args...)
	if f.asAgent {
		to.Args = append(to.Args, setup.AgentFlag)
	}
	to.Command, err = o.binary(c.NeedsAbsolutePath(), f.project)
	return to, err
}

// hook returns the program that the hooks of a client start.
func (o Options) hook(c *setup.Client, f flags) (to setup.Connection, err error) {
	target, err := o.Target()
	if err != nil {
		return to, err
	}
	args, err := target.args()
	if err != nil {
		return to, err
	}
	if f.workspace != "" {
		args = append(args, "--workspace-id", f.workspace)
	}
	to.Args = c.HookArgs(args, f.agent)
	to.Command, err = o.hookBinary()
	return to, err
}

// args returns the flags with which a command has the same target at any time.
func (t Target) args() (args []string, err error) {
	switch {
	case t.Local:
		return []string{"--local"}, nil
	case !t.Named:
		return nil, nil
	}
	server, err := address(t.Server, t.PlainHTTP)
	args = []string{"--server", server}
	if t.PlainHTTP {
		args = append(args, "--plain-http")
	}
	return args, err
}

// CommandFlags returns the flags with which a command has a target that is in use, or none if it is unknown.
func CommandFlags(find func() (Target, error)) (flags []string) {
	if t, err := find(); err == nil {
		flags, _ = t.args() // the address was valid before
	}
	return flags
}

// endpoint returns the address of the MCP endpoint of a server.
func endpoint(server string, plain bool) (string, error) {
	at, err := address(server, plain)
	return strings.TrimSuffix(at, "/mcp") + "/mcp", err
}

// address returns the address of a server without a slash at its end. It goes into a file, so it must hold no secret.
func address(server string, plain bool) (string, error) {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", command.UsageError("--server takes an address such as https://loci.example.org")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "", command.UsageError("the address of the server has more than host and path: leave out user, " +
			"query and fragment")
	case u.Scheme == "http" && !plain && !isLoopback(u.Hostname()):
		return "", command.UsageError("use https for another machine, or allow http with --plain-http")
	}
	return strings.TrimRight(u.String(), "/"), nil
}
