package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
)

func (p *program) login() *cobra.Command {
	var key string
	var noBrowser, workspaces bool
	cmd := &cobra.Command{
		Use:   "login <url>",
		Short: "Sign in to a server",
		Long: "Signs in to a server, so that every command and loci mcp work there. The browser opens:\n" +
			"sign in, and choose whether commands may do everything that you may do, or use some workspaces.\n" +
			"With --workspaces the page offers workspaces alone. With --key the command stores an API key\n" +
			"instead of using the browser. The login is stored in the keyring of the system, or without one\n" +
			"in a file that only you can read.\n" +
			"With --no-browser open the printed address yourself. The sign-in ends at a port of this\n" +
			"machine. From another machine forward that port (ssh -L 1234:127.0.0.1:1234), or paste the\n" +
			"address at which the browser ends.",
		Example: "loci login https://loci.example.org\n" +
			"loci login https://loci.example.org --no-browser\n" +
			"loci login https://loci.example.org --workspaces\n" +
			"loci login http://127.0.0.1:7007 --key - < key.txt",
		Args: command.ExactArgs("<url>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			url := serverOf(args[0])
			if !cmd.Flags().Changed("key") {
				return p.logInByBrowser(cmd.Context(), url, !noBrowser, !workspaces)
			}
			if noBrowser {
				return command.UsageError("--no-browser and --key exclude each other")
			}
			if workspaces {
				return command.UsageError("--workspaces and --key exclude each other: a key reaches all of them")
			}
			return p.logIn(cmd.Context(), url, key)
		},
	}
	cmd.Flags().StringVar(&key, "key", "",
		"Store an API key, read from the terminal or the standard input: `-`")
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "Only print the address of the sign-in")
	cmd.Flags().BoolVar(&workspaces, "workspaces", false, "Ask for some workspaces, and not for everything")
	return cmd
}

// logIn checks the key at the server before it stores it.
func (p *program) logIn(ctx context.Context, url, key string) error {
	key, err := p.readKey(ctx, url, key)
	if err != nil {
		return err
	}
	return p.finishLogin(ctx, target{url: url, key: key, plainHTTP: p.plainHTTP}, profile.Login{Key: key})
}

// finishLogin checks the credential at the server, stores the login and prints it.
func (p *program) finishLogin(ctx context.Context, t target, l profile.Login) error {
	user, where, err := p.storeLogin(ctx, t, &l)
	if err != nil {
		if l.ByBrowser() {
			_ = revoke(context.WithoutCancel(ctx), &l) // the first error is the one to report
		}
		return err
	}
	text := fmt.Sprintf("Signed in to %s as %s. The %s is stored in %s.\n", l.URL,
		format.StripControl(user.Email, false), kindOf(&l), where)
	if l.ByBrowser() && !t.reachesAccount {
		text += "It reaches the workspaces that you chose, and no keys and files.\n"
	}
	waiting := p.countLocal(ctx)
	if waiting > 0 {
		text += fmt.Sprintf("This device has %s: loci push copies them to the server.\n",
			format.Plural(waiting, "memory of its own", "memories of its own"))
	}
	return p.PrintResult(loginResult{true, l.URL, kindOf(&l), where, user, waiting}, text)
}

// countLocal returns the number of memories in the database of this device. Without one, or where it cannot be read,
// it is 0.
func (p *program) countLocal(ctx context.Context) int64 {
	dir := p.localDir()
	if !server.HasLocal(dir) {
		return 0
	}
	caller, end, err := p.openLocal(ctx, dir, true)
	if err != nil {
		return 0
	}
	status, err := op.Do(ctx, caller, &op.Call{Transport: "command"}, service.AccountStatus, loci.Empty{})
	if errors.Join(err, end()) != nil {
		return 0
	}
	return status.Totals.Memories
}

// storeLogin stores the login if the server accepts its credential. It ends the grant that the login replaces.
func (p *program) storeLogin(ctx context.Context, t target, l *profile.Login) (u loci.User, where string, err error) {
	c, err := t.newClient()
	if err != nil {
		return u, "", err
	}
	stranger, err := target{url: t.url, plainHTTP: t.plainHTTP}.newClient()
	if err == nil {
		err = checkIsLoci(ctx, stranger)
	}
	if err != nil {
		return u, "", err
	}
	me, err := c.AccountMe(ctx)
	if err != nil {
		return u, "", err
	}
	l.URL, l.PlainHTTP, l.UserID = c.URL(), p.plainHTTP, me.User.ID
	where, old, err := p.profile().Save(ctx, *l)
	if err == nil && old != nil && old.ByBrowser() {
		_ = revoke(ctx, old) // nobody has its tokens any more
	}
	return me.User, where, err
}

type loginResult struct {
	OK   bool      `json:"ok"`
	URL  string    `json:"url"`
	Kind string    `json:"kind"`
	Kept string    `json:"kept"`
	User loci.User `json:"user"`
	// Local is the number of memories on this device.
	Local int64 `json:"localMemories"`
}

// kindOf returns the kind of credential of a login: key or token.
func kindOf(l *profile.Login) string {
	if l.ByBrowser() {
		return "token"
	}
	return "key"
}

// readKey returns the key from the terminal or from the standard input. A key
// that is the value of the flag itself works too, though a list of processes
// shows it: no help offers that.
func (p *program) readKey(ctx context.Context, url, key string) (string, error) {
	var err error
	switch given := key != "" && key != "-"; {
	case given:
	case p.IsInteractive():
		key, err = p.PromptSecret(ctx, "API key: ")
	default:
		key, err = p.ReadStdin(ctx)
	}
	if err != nil {
		return "", err
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", command.UsageError("login --key takes an API key: sign in at " + strings.TrimRight(url, "/") +
			" and make one there," +
			"\nor make one on the server with loci admin key create; then: loci login " + url +
			" --key -   (and paste it)")
	}
	return key, nil
}

// revokeTimeout is the longest wait for the server while a login is removed.
const revokeTimeout = 5 * time.Second

// revoke ends the grant of a login by browser at its server.
func revoke(ctx context.Context, l *profile.Login) error {
	if l.Tokens == nil {
		return loci.Errorf(loci.CodeMissingAPIKey, "the keyring does not return its tokens")
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	return l.Client.Revoke(ctx, l.Tokens.Refresh)
}
