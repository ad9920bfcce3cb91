package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/profile"
)

func (p *program) logout() *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Example: "loci logout",
		Short:   "Remove the stored login, and end it at the server",
		Long: "Removes the stored login. A login by browser ends at the server too. An API key still works: " +
			"loci key revoke ends it.",
		Args: command.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.logOut(cmd.Context()) },
	}
}

// A logoutResult is the result of loci logout. Revoked is absent for a key.
type logoutResult struct {
	OK          bool  `json:"ok"`
	WasSignedIn bool  `json:"wasSignedIn"`
	Revoked     *bool `json:"revoked,omitzero"`
}

func (p *program) logOut(ctx context.Context) error {
	result := logoutResult{OK: true}
	var url string
	var failure error
	was, err := p.profile().Delete(ctx, func(l *profile.Login) {
		if url = l.URL; l.ByBrowser() {
			failure = revoke(ctx, l)
			ended := failure == nil
			result.Revoked = &ended
		}
	})
	if err != nil {
		return err
	}
	result.WasSignedIn = was
	text := "Signed out. The key still works. To revoke it, log in again and use loci key revoke first."
	switch {
	case !was:
		text = "There was no login."
	case failure != nil:
		text = fmt.Sprintf("Signed out here. The grant at %s may still be live (%s): revoke it on its pages.", url,
			format.StripControl(oneLineError(failure).Message, false))
	case result.Revoked != nil:
		text = "Signed out here and at " + url + "."
	}
	if next, _, err := p.locateTarget(); err == nil && next.url != "" {
		text += "\nCommands use " + next.url + " now (" + next.reason + ")."
	} else if err == nil {
		text += "\nCommands use the memories on this device now."
	}
	return p.PrintResult(result, text+"\n")
}
