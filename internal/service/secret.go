package service

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/title"
)

// applySecretPolicy returns a text as it may be stored. The text is unchanged
// if it holds no credential or the workspace allows credentials. Otherwise it
// is redacted on request, or refused by rule and line, without the credential.
func applySecretPolicy(policy loci.SecretsPolicy, onSecret loci.OnSecret, field, text string) (string, error) {
	if policy == loci.SecretsAllow && onSecret == "" {
		return text, nil
	}
	found := secret.Scan(text)
	if len(found) == 0 {
		return text, nil
	}
	if onSecret == loci.OnSecretRedact || policy == loci.SecretsRedact {
		if text, _ = secret.Redact(text); len(text) > loci.MaxContent {
			return "", loci.Errorf(loci.CodeInvalidQuery,
				"%s must have at most %d bytes with [REDACTED:rule] in place of its credentials", field,
				loci.MaxContent)
		}
		if strings.HasSuffix(field, "title") && utf8.RuneCountInString(text) > loci.MaxTitle {
			text = title.Truncate(text) // a mark may be longer than the credential
		}
		return text, nil
	}
	return "", secretError(field, found[0].Rule, found[0].Line)
}

// These begin the names of fields of candidates and messages, which cannot be redacted on request.
const (
	candidateField = "candidate "
	messageField   = "message "
)

func secretError(field, rule string, line int) error {
	advice := "remove it"
	if field != "evidence" && !strings.HasPrefix(field, candidateField) && !strings.HasPrefix(field, messageField) {
		advice = "remove it, or send secrets: \"redact\""
	}
	return loci.Errorf(loci.CodeSecretDetected, "%s holds a credential in line %d (%s): %s.", field, line, rule, advice)
}

// rejectSecrets refuses short texts that hold a credential. Tags and sources
// are never redacted: that would change their meaning.
func rejectSecrets(policy loci.SecretsPolicy, field string, texts ...string) error {
	if policy == loci.SecretsAllow {
		return nil
	}
	for _, t := range texts {
		if found := secret.Scan(t); len(found) > 0 {
			return loci.Errorf(loci.CodeSecretDetected, "%s holds a credential (%s): remove it.", field, found[0].Rule)
		}
	}
	return nil
}

// isBlank reports whether a title is none.
func isBlank(title string) bool { return !strings.ContainsFunc(title, loci.IsVisible) }

// checkedTitle returns a derived title as it may be stored. Its content is allowed, so that a credential in it was one
// word only without its Markdown: it is redacted.
func checkedTitle(policy loci.SecretsPolicy, onSecret loci.OnSecret, derived string) string {
	if policy == loci.SecretsAllow && onSecret == "" {
		return derived
	}
	return title.Truncate(redacted(derived))
}

// setContent gives a memory a content under a policy, and derives its title unless that was given.
func setContent(m *loci.Memory, policy loci.SecretsPolicy, onSecret loci.OnSecret, content string) {
	if m.Content = content; m.TitleDerived {
		m.Title = checkedTitle(policy, onSecret, title.Derive(content))
	}
}

// overlap is how much of a text is scanned again when another is appended: a
// private key may have its head in one and its body in the other.
const overlap = 4 << 10

const redactedKey = "[REDACTED:private-key]"

// appendWithPolicy returns a text with another appended on a new line, under
// the policy of applySecretPolicy. Lines are counted in the appended text.
func appendWithPolicy(policy loci.SecretsPolicy, onSecret loci.OnSecret, text, more string) (string, error) {
	more, err := applySecretPolicy(policy, onSecret, "content", more)
	if err != nil {
		return "", err
	}
	whole := text + "\n" + more
	if strings.HasSuffix(text, "\n") {
		whole = text + more
	}
	if policy == loci.SecretsAllow && onSecret == "" {
		return whole, nil
	}
	from := max(0, len(text)-overlap)
	// A key may arrive line by line: its redaction mark does not end it.
	lines := strings.ReplaceAll(whole[from:], redactedKey, strings.Repeat(" ", len(redactedKey)))
	for _, f := range secret.Scan(lines) {
		if from+f.To <= len(text) {
			continue // found in the stored text already
		}
		if onSecret != loci.OnSecretRedact && policy != loci.SecretsRedact {
			return "", secretError("content, together with the stored text,", f.Rule, 1)
		}
		at := max(from+f.From, len(whole)-len(more))
		return whole[:at] + "[REDACTED:" + f.Rule + "]" + whole[from+f.To:], nil
	}
	return whole, nil
}
