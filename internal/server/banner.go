package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
)

// plainHTTPWarning warns of a public URL that is reached over a network without TLS.
const plainHTTPWarning = "passwords, cookies and keys travel over plain http, and can be read on the way: put a " +
	"proxy with TLS in front, and set --public-url https://..."

// printBanner prints the address of the server, and the link to make the first account. The setup link is a secret: it
// goes to the console and never to the log.
func printBanner(ctx context.Context, console io.Writer, svc *service.Service, l net.Listener, urls,
	warnings []string) error {
	hasUsers, err := store.SystemRead(ctx, svc.Store, "check for an account",
		func(t *store.SystemTx) (bool, error) {
			return t.HasUsers()
		})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Loci %s listens on http://%s (%s)\n", Version, l.Addr(), svc.Store.Engine())
	if !slices.Equal(urls, []string{"http://" + l.Addr().String()}) {
		text += "Open " + strings.Join(urls, "\n  or ") + "\n"
	}
	for _, w := range warnings {
		text += "Warning: " + w + "\n"
	}
	if !hasUsers {
		text += "Make the first account within an hour: " + urls[0] + "/setup?token=" + svc.NewSetupToken() + "\n"
	}
	_, err = io.WriteString(console, text)
	return err
}
