package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
)

func (p *program) login() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "login <url>",
		Short: "Sign in to a server",
		Long: "Stores the address of a server and an API key, so that every command and loci mcp work there.\n" +
			"The key is stored in the keyring of the system, or without one in a file that only you can read.",
		Example: "loci login https://loci.example.org\n" +
			"loci login http://127.0.0.1:7007 --key - < key.txt",
		Args: command.ExactArgs("<url>"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.logIn(cmd, args[0], key) },
	}
	cmd.Flags().StringVar(&key, "key", "", "Read the API key from the terminal or the standard input: `-` (default)")
	return cmd
}

// logIn checks the key at the server before it stores it.
func (p *program) logIn(cmd *cobra.Command, url, key string) error {
	key, err := p.readKey(cmd.Context(), url, key)
	if err != nil {
		return err
	}
	c, err := target{url: url, key: key, plainHTTP: p.plainHTTP}.newClient()
	if err != nil {
		return err
	}
	me, err := c.AccountMe(cmd.Context())
	if err != nil {
		return err
	}
	if me.User.ID == "" {
		return loci.Errorf(loci.CodeUnavailable, "%s does not answer as a Loci server does: check the address",
			c.URL())
	}
	where, err := p.saveLogin(savedLogin{URL: c.URL(), Key: key, PlainHTTP: p.plainHTTP})
	if err != nil {
		return err
	}
	if p.JSON {
		return p.PrintJSON(loginResult{true, c.URL(), where, me.User})
	}
	_, err = fmt.Fprintf(p.Out, "Signed in to %s as %s. The key is stored in %s.\n", c.URL(),
		format.StripControl(me.User.Email, false), where)
	return err
}

type loginResult struct {
	OK   bool      `json:"ok"`
	URL  string    `json:"url"`
	Kept string    `json:"kept"`
	User loci.User `json:"user"`
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
		key, err = p.ReadStdin()
	}
	if err != nil {
		return "", err
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", command.UsageError("login takes an API key: sign in at " + strings.TrimRight(url, "/") +
			" and make one there," +
			"\nor make one on the server with loci admin key create; then: loci login " + url + "   (and paste it)")
	}
	return key, nil
}

func (p *program) logout() *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Remove the stored server and key",
		Args:  command.ExactArgs(),
		RunE: func(*cobra.Command, []string) error {
			was, err := p.deleteLogin()
			if err != nil {
				return err
			}
			if p.JSON {
				return p.PrintJSON(map[string]bool{"ok": true, "wasSignedIn": was})
			}
			text := "Signed out. The key still works. To revoke it, log in again and use loci key revoke first."
			if !was {
				text = "There was no login."
			}
			_, err = fmt.Fprintln(p.Out, text)
			return err
		},
	}
}
