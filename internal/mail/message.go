// Package mail writes the mails of Loci and sends them by SMTP.
package mail

import (
	"bytes"
	"cmp"
	_ "embed"
	html "html/template"
	text "text/template"
	"time"

	"github.com/loci-memory/loci"
)

// A Message is one mail. Its texts are plain; an HTML part is made of them.
type Message struct {
	To      loci.Email
	Subject string
	Text    []string // paragraphs before the link
	Action  string   // words of the link
	Link    string
	Notes   []string // paragraphs after the link
}

// Verification returns the mail that proves that an address is the user's own.
func Verification(to loci.Email, link string, expires time.Time) Message {
	return Message{To: to, Subject: "Confirm your address",
		Text:   []string{"Somebody made an account at Loci with this address. If it was you, confirm the address:"},
		Action: "Confirm the address", Link: link,
		Notes: []string{expiry(expires), "If it was not you, ignore this mail: nothing else is sent."}}
}

// Reset returns the mail with which a user chooses another password.
func Reset(to loci.Email, link string, expires time.Time) Message {
	return Message{To: to, Subject: "Choose a new password",
		Text:   []string{"Somebody asked for a new password for your account at Loci. If it was you, choose one:"},
		Action: "Choose a new password", Link: link,
		Notes: []string{expiry(expires) + " All browsers are then signed out.",
			"If it was not you, ignore this mail: the password stays as it is."}}
}

// Invitation returns the mail that invites an address into a workspace. An inviter who has left has no name.
func Invitation(to loci.Email, inviter, workspace string, role loci.Role, link string, expires time.Time) Message {
	inviter, workspace = cmp.Or(quoteName(inviter), "Somebody"), cmp.Or(quoteName(workspace), `"…"`)
	return Message{To: to, Subject: inviter + " invites you to " + workspace,
		Text: []string{inviter + " invites you to the workspace " + workspace + " at Loci, as " + string(role) +
			"."},
		Action: "Read the invitation", Link: link,
		Notes: []string{expiry(expires), "The link is for you alone: do not pass it on."}}
}

// Test returns the mail with which an operator tries the settings.
func Test(to loci.Email, link string) Message {
	return Message{To: to, Subject: "Loci can send mail", Text: []string{"This server can send mail:"},
		Action: "Open Loci", Link: link}
}

func expiry(t time.Time) string {
	return "The link works once, until " + t.UTC().Format("2 January 2006, 15:04") + " UTC."
}

//go:embed message.txt
var textSource string

//go:embed message.html
var htmlSource string

var (
	textTemplate = text.Must(text.New("message.txt").Parse(textSource))
	htmlTemplate = html.Must(html.New("message.html").Parse(htmlSource))
)

// render returns the two parts of a message.
func (m Message) render() (plain, rich string, err error) {
	var b bytes.Buffer
	if err := textTemplate.Execute(&b, m); err != nil {
		return "", "", err
	}
	plain = b.String()
	b.Reset()
	err = htmlTemplate.Execute(&b, m)
	return plain, b.String(), err
}
