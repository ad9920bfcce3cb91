package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/server"
)

// admin returns the commands of the operator, who needs no account: whoever
// can read the database is one.
func (p *program) admin() *cobra.Command {
	admin := p.group("admin", "Make users and keys in the database of a server")
	user := p.group("user", "Make users")
	user.AddCommand(p.createUser(), p.verifyUser())
	key := p.group("key", "Make API keys")
	key.AddCommand(p.createKey())
	admin.AddCommand(user, key)
	return admin
}

func (p *program) createUser() *cobra.Command {
	var email, name string
	var password bool
	cmd := &cobra.Command{
		Use:     "create",
		Short:   "Make a user",
		Long:    "Makes a user with a personal workspace. Without a password the user can use keys, and not sign in.",
		Example: "loci admin user create --email ada@example.org --name Ada\nloci admin user create --email ada@example.org --password-stdin < password.txt",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&email, "email", "", "The address (required)")
	cmd.Flags().StringVar(&name, "name", "", "The name; default: the local part of the address")
	cmd.Flags().BoolVar(&password, "password-stdin", false, "Read the password from the standard input")
	settings := p.settings(cmd, "data", "db")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		var secret string
		if password {
			if secret, err = p.stdin(); err != nil {
				return err
			}
			secret = strings.TrimRight(secret, "\r\n")
		}
		a, err := p.administer(cmd, email, settings)
		if err != nil {
			return err
		}
		u, err := a.CreateUser(cmd.Context(), email, name, secret)
		if err := first(err, a.Close()); err != nil {
			return err
		}
		if p.json {
			return p.print(map[string]string{"userId": u.ID})
		}
		_, err = fmt.Fprintf(p.out, "Made the user %s with the id %s.\n", u.Email, u.ID)
		return err
	}
	return cmd
}

func (p *program) verifyUser() *cobra.Command {
	var email string
	cmd := &cobra.Command{
		Use:     "verify",
		Short:   "Mark the address of a user as verified",
		Example: "loci admin user verify --email ada@example.org",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&email, "email", "", "The address (required)")
	settings := p.settings(cmd, "data", "db")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := p.administer(cmd, email, settings)
		if err != nil {
			return err
		}
		u, err := a.VerifyUser(cmd.Context(), loci.Email(email))
		if err := first(err, a.Close()); err != nil {
			return err
		}
		if p.json {
			return p.print(map[string]any{"userId": u.ID, "emailVerified": u.EmailVerified})
		}
		_, err = fmt.Fprintf(p.out, "The address %s is verified.\n", u.Email)
		return err
	}
	return cmd
}

func (p *program) createKey() *cobra.Command {
	var email, name string
	cmd := &cobra.Command{
		Use:     "create",
		Short:   "Make an API key of a user",
		Example: "loci admin key create --email ada@example.org --name laptop",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&email, "email", "", "The user's address (required)")
	cmd.Flags().StringVar(&name, "name", "", "What the key is for")
	settings := p.settings(cmd, "data", "db")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := p.administer(cmd, email, settings)
		if err != nil {
			return err
		}
		k, err := a.CreateKey(cmd.Context(), email, name)
		if err := first(err, a.Close()); err != nil {
			return err
		}
		if p.json {
			return p.print(map[string]string{"id": k.Key.ID, "apiKey": k.APIKey})
		}
		_, err = fmt.Fprintf(p.out, "%s\n", k.APIKey)
		if err == nil {
			_, err = io.WriteString(p.err, "This is the key. It is not shown again.\n")
		}
		return err
	}
	return cmd
}

// administer opens the database that the settings name.
func (p *program) administer(cmd *cobra.Command, email string, settings func() (server.Settings, error)) (*server.Admin, error) {
	if email == "" {
		return nil, loci.Fail(loci.InvalidQuery, "--email is required")
	}
	s, err := settings()
	if err != nil {
		return nil, err
	}
	return server.OpenAdmin(cmd.Context(), s)
}

// first returns the first error that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
