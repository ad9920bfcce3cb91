package server

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/mail/mailtest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// postfixServices are the services of Postfix that a delivery into a mailbox needs (master(5)).
const postfixServices = `%s inet n - n - - smtpd
cleanup   unix n - n - 0 cleanup
qmgr      unix n - n 300 1 qmgr
rewrite   unix - - n - - trivial-rewrite
bounce    unix - - n - 0 bounce
defer     unix - - n - 0 bounce
trace     unix - - n - 0 bounce
proxymap  unix - - n - - proxymap
smtp      unix - - n - - smtp
error     unix - - n - - error
retry     unix - - n - - error
virtual   unix - n n - - virtual
anvil     unix - - n - 1 anvil
postlog   unix-dgram n - n - 1 postlogd
`

const postfixSettings = `compatibility_level = 3.6
queue_directory = %[1]s/queue
data_directory = %[1]s/data
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.example.com
mydestination =
alias_maps =
virtual_mailbox_domains = example.com
virtual_mailbox_base = %[1]s/box
virtual_mailbox_maps = static:all/
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
smtpd_relay_restrictions = reject_unauth_destination
maillog_file = %[1]s/log
maillog_file_prefixes = %[1]s
`

// startPostfix starts a Postfix of its own on loopback, in a folder of its own. It delivers the mails of the domain
// example.com into one Maildir and refuses others. Postfix requires root.
func startPostfix(t *testing.T) (address, mailbox string) {
	t.Helper()
	if _, err := exec.LookPath("postfix"); err != nil || os.Getuid() != 0 {
		testenv.Absent(t, "postfix", "scripts/setup installs it, and only root starts it")
	}
	dir, err := os.MkdirTemp("", "loci-postfix") // not t.TempDir, which only root may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host := freeAddress(t)
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, log)
		}
	}
	config, mailbox := filepath.Join(dir, "config"), filepath.Join(dir, "box")
	for _, d := range []string{config, filepath.Join(dir, "queue"), filepath.Join(dir, "data"), mailbox} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"main.cf": fmt.Sprintf(postfixSettings, dir),
		"master.cf": fmt.Sprintf(postfixServices, host)} {
		if err := os.WriteFile(filepath.Join(config, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run("chown", "65534", mailbox)
	run("chown", "postfix", filepath.Join(dir, "data"))
	run("postfix", "-c", config, "start")
	t.Cleanup(func() { run("postfix", "-c", config, "stop") })
	return "smtp://" + host + "?from=loci@example.org", filepath.Join(mailbox, "all", "new")
}

// A mail server of other authors delivers the mails, and their links work.
func TestPostfixDeliversIntoMailbox(t *testing.T) {
	t.Parallel()
	address, mailbox := startPostfix(t)
	url, _, log, _ := start(t, map[string]string{"smtp-url": address, "registration": "open",
		"public-url": "http://localhost:7007"})
	registerWith(t, url, "zoe.ann@example.com", "Zoë")
	registerWith(t, url, "nobody@elsewhere.example", "Nobody")
	waitForText(t, log, `"dropped":true`)
	var m mailtest.Mail
	waittest.Until(t, func() bool {
		list, _ := filepath.Glob(filepath.Join(mailbox, "*")) // the pattern is valid
		if len(list) > 0 {
			raw, err := os.ReadFile(list[0])
			if err != nil {
				t.Fatal(err)
			}
			m.Raw = string(raw)
		}
		return m.Raw != ""
	})
	if header, _ := m.Parts(t); header.Get("Return-Path") != "<loci@example.org>" ||
		header.Get("Auto-Submitted") != "auto-generated" {
		t.Error(header)
	}
	verify := tokenOf(t, m, "/verify")
	if status, v := callAPI(t, "POST", url+"/v1/auth/verify", "", `{"token": "`+verify+`"}`); status != 200 {
		t.Error(status, v)
	}
}
