package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/oauthclient"
)

// logInByBrowser signs a person in and stores the tokens. With account it asks for everything that the person may do.
func (p *program) logInByBrowser(ctx context.Context, url string, browse, account bool) error {
	if p.profile().Path == "" {
		return profile.ErrNoHome
	}
	// The rules of addresses for keys hold for tokens.
	if _, err := (target{url: url, key: "-", plainHTTP: p.plainHTTP}).newClient(); err != nil {
		return err
	}
	s, err := oauthclient.Discover(ctx, url)
	if err != nil {
		return err
	}
	c, err := p.registeredClient(ctx, s)
	if err != nil {
		return err
	}
	tokens, err := p.signIn(ctx, s, c, browse, account)
	if err != nil {
		return err
	}
	return p.finishLogin(ctx, target{url: s.Issuer, key: tokens.Access, plainHTTP: p.plainHTTP,
		reachesAccount: tokens.Account},
		profile.Login{Client: &c, Tokens: &tokens})
}

// registeredClient returns the client of the stored login if the server still knows it, or registers one.
func (p *program) registeredClient(ctx context.Context, s oauthclient.Server) (oauthclient.Client, error) {
	if l, _ := p.profile().Load(); l != nil && l.ByBrowser() { // a damaged one is replaced
		if known, err := s.IsRegistered(ctx, *l.Client); known || err != nil {
			return *l.Client, err
		}
	}
	host, _ := os.Hostname()
	return s.Register(ctx, "Loci on "+format.StripControl(cmp.Or(host, "a computer"), false))
}

// signIn opens the browser and waits for the person.
func (p *program) signIn(ctx context.Context, s oauthclient.Server, c oauthclient.Client,
	browse, account bool) (oauthclient.Tokens, error) {
	in, err := s.Start(c, account)
	if err != nil {
		return oauthclient.Tokens{}, err
	}
	defer in.Close()
	waiting, cancel := context.WithTimeout(ctx, p.signInTimeout)
	defer cancel()
	opened := browse && p.browse(&p.Console, in.Address()) == nil
	reads := !browse || p.IsInteractive()
	fmt.Fprint(p.Err, signInPrompt(in.Address(), opened, reads))
	if reads {
		go p.readPastedAddress(waiting, in)
	}
	tokens, err := in.Wait(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		err = loci.Errorf(loci.CodeUnavailable, "nobody signed in within %v: try again: loci login %s",
			p.signInTimeout, s.Issuer)
	}
	return tokens, err
}

// signInPrompt returns the text that asks a person to sign in. reads means that a pasted address is read.
func signInPrompt(address string, opened, reads bool) string {
	text := "Open this address to sign in:"
	if opened {
		text = "The browser opens for the sign-in. If it does not, open this address:"
	}
	text += "\n\n" + address + "\n\n"
	if reads {
		text += "If that browser runs on another machine, paste the address at which it ends.\n"
	}
	return text
}

// readPastedAddress reads lines until one is the answer of the browser. The read cannot be interrupted, and ends with
// the process.
func (p *program) readPastedAddress(ctx context.Context, in *oauthclient.SignIn) {
	for lines := bufio.NewScanner(p.In); ctx.Err() == nil && lines.Scan(); {
		if lines.Text() == "" {
			continue
		}
		if err := in.Paste(ctx, lines.Text()); err == nil {
			return
		} else if ctx.Err() == nil {
			p.PrintMessage(format.StripControl(oneLineError(err).Message, false))
		}
	}
}
