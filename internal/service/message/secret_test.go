package message_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A courier sends messages from the agent of the owner of a world to itself, and keeps what it is answered.
type courier struct {
	t       *testing.T
	w       *World
	to      loci.ID
	answers bytes.Buffer
}

func newCourier(t *testing.T, w *World, policy loci.SecretsPolicy) *courier {
	t.Helper()
	MustCall(t, w, CallerOwner, service.WorkspaceUpdate,
		loci.UpdateWorkspace{WorkspaceID: w.Team, Settings: &loci.ChangeSettings{Secrets: &policy}})
	me := testenv.Must(w.Host.Admit(t.Context(), service.AccountStatus.Op, w.Call(CallerAgent)))(t)
	return &courier{t: t, w: w, to: me.AgentID}
}

// send sends a message and returns it as the inbox has it.
func (c *courier) send(subject, content string, key string) (loci.Message, error) {
	c.t.Helper()
	call := c.w.Call(CallerAgent)
	call.IdempotencyKey = key
	out, err := op.Do(c.t.Context(), c.w.Host, call, service.AgentSend, loci.SendMessage{WorkspaceID: c.w.Team,
		ToAgentID: c.to, Subject: loci.Subject(subject), Content: loci.MessageText(content)})
	if err != nil {
		c.answers.WriteString(loci.AsError(err).Message)
		return out.Message, err
	}
	list := MustCall(c.t, c.w, CallerAgent, service.AgentInbox, loci.ListInbox{}).Messages
	if len(list) == 0 || list[0].ID != out.Message.ID || list[0].Message != out.Message {
		c.t.Fatalf("the inbox has %+v, and the answer was %+v", list, out.Message)
	}
	testenv.NoError(c.t, json.NewEncoder(&c.answers).Encode(out))
	return out.Message, nil
}

// stored returns a text as a workspace with a policy stores it.
func stored(policy loci.SecretsPolicy, text string) string {
	if policy == loci.SecretsRedact {
		text, _ = secret.Redact(text)
	}
	return text
}

// TestMessagesFollowPolicyForCredentials plants credentials in subject and content under each policy of the workspace.
// They are refused, redacted or allowed. None is in the log, and only an allowed one is in the database or an answer.
func TestMessagesFollowPolicyForCredentials(t *testing.T) {
	t.Parallel()
	for _, policy := range []loci.SecretsPolicy{loci.SecretsReject, loci.SecretsRedact, loci.SecretsAllow} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			d := storetest.Database{Dir: t.TempDir()}
			w := New(t, d.Open, Options{})
			log := &bytes.Buffer{}
			w.Host.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c := newCourier(t, w, policy)
			samples := secrettest.SixtySamples()
			for _, s := range samples {
				for _, x := range [][2]string{{"Rope", "It is\n" + s.Text}, {s.Text, "It is long"}} {
					if utf8.RuneCountInString(x[0]) > loci.MaxSubject {
						continue
					}
					m, err := c.send(x[0], x[1], "")
					if policy == loci.SecretsReject {
						field := map[bool]string{true: "subject", false: "content"}[x[0] == s.Text]
						if Expect(t, s.Rule, err, loci.CodeSecretDetected); err != nil &&
							!strings.Contains(err.Error(), "message "+field+" holds a credential in line ") {
							t.Errorf("%s: %v", s.Rule, err)
						}
					} else if utf8.RuneCountInString(stored(policy, x[0])) > loci.MaxSubject {
						Expect(t, s.Rule, err, loci.CodeInvalidQuery)
					} else if err != nil || m.Subject != stored(policy, x[0]) || m.Content != stored(policy, x[1]) {
						t.Errorf("%s: %q is sent as %+v, %v", s.Rule, x, m, err)
					}
				}
			}
			Expect(t, "a message with an Idempotency-Key",
				testenv.ErrorOf(c.send("", "with a key\n"+samples[0].Text, "key")), map[loci.SecretsPolicy]loci.Code{
					loci.SecretsReject: loci.CodeSecretDetected}[policy])
			files := log.String()
			if policy != loci.SecretsAllow {
				files += c.answers.String()
				for _, name := range []string{"loci.db", "loci.db-wal"} {
					files += string(testenv.Must(os.ReadFile(filepath.Join(d.Dir, name)))(t))
				}
			}
			for _, s := range samples {
				testenv.Equal(t, s.FindPart(files), "", s.Rule, "is kept", "in", s.Text)
			}
			if n := len(d.Query(t, `SELECT id FROM messages`)); (n == 0) != (policy == loci.SecretsReject) {
				t.Errorf("%d messages are stored", n)
			}
		})
	}
}

// A redaction may be longer than the credential.
func TestRedactedMessageKeepsItsBounds(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	c := newCourier(t, w, loci.SecretsRedact)
	var text string
	for _, s := range secrettest.SixtySamples() {
		if grown := stored(loci.SecretsRedact, s.Text); len(grown) > len(s.Text) && len(grown) < loci.MaxSubject {
			text = s.Text
		}
	}
	if text == "" {
		t.Fatal("no redaction is longer than its credential")
	}
	redacted := stored(loci.SecretsRedact, text)
	for _, x := range []struct {
		what             string
		subject, content int // characters before the credential
		code             loci.Code
	}{
		{"a content that becomes too long", 0, loci.MaxMessage - len(text), loci.CodeInvalidQuery},
		{"a content that becomes as long as it may be", 0, loci.MaxMessage - len(redacted), ""},
		{"a subject that becomes too long", loci.MaxSubject - len(text), 0, loci.CodeInvalidQuery},
		{"a subject that becomes as long as it may be", loci.MaxSubject - len(redacted), 0, ""},
	} {
		subject, content := "Rope", "It is long"
		if x.content > 0 {
			content = strings.Repeat("yet ", loci.MaxMessage)[:x.content-1] + "\n" + text
		} else {
			subject = strings.Repeat("yet ", loci.MaxSubject)[:x.subject-1] + " " + text
		}
		Expect(t, x.what, testenv.ErrorOf(c.send(subject, content, "")), x.code)
	}
}
