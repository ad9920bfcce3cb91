package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/server"
)

func (c commands) resetUser() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Make a link with which a user chooses a new password",
		Long: "Makes a link with which a user chooses a new password. It is shown once, and works once within an " +
			"hour. All browsers of\nthe user are signed out at once. Its use verifies the address; if that was not " +
			"verified before, it revokes the API\nkeys. The link begins with the public URL of the server " +
			"(LOCI_PUBLIC_URL).",
		Example: "loci admin user reset --email ada@example.org\n" +
			"loci admin user reset --email ada@example.org --public-url https://loci.example.org --json",
		Args: command.ExactArgs(),
	}
	email := emailFlag(cmd, "The user's address")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		r, err := a.ResetPassword(ctx, *email)
		inferred := ""
		if a.InferredURL {
			inferred = "It begins with the address of the listener: if people use another, set LOCI_PUBLIC_URL and " +
				"make a new one.\n"
		}
		return adminResult{
			object: map[string]any{"userId": r.UserID, "resetUrl": r.URL, "expiresAt": r.ExpiresAt},
			text:   r.URL + "\n",
			hint: fmt.Sprintf("The link works once, until %s UTC. It is not shown again: give it to the user only.\n",
				r.ExpiresAt.Std().UTC().Format(time.DateTime)) + inferred,
		}, err
	})
}

func (c commands) testMail() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Send a mail with the settings of the server",
		Long: "Sends a mail at once, with LOCI_SMTP_URL or smtp-url in loci.toml, and reports the answer of the mail " +
			"server.",
		Example: "loci admin mail test --to ada@example.org",
		Args:    command.ExactArgs(),
	}
	to := requiredFlag(cmd, "to", "The address of the recipient")
	return c.settingsCommand(cmd, func(ctx context.Context, s server.Settings, _ []string) (adminResult, error) {
		err := s.SendTestMail(ctx, *to)
		return adminResult{object: map[string]string{"to": *to},
			text: fmt.Sprintf("The mail server accepted a mail to %s.\n", *to)}, err
	})
}
