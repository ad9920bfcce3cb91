package service

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/secret"
)

// applySecretPolicy returns a text as it may be stored: as it is where no credential is
// found in it or the workspace allows them, else without them where that is
// wished. Otherwise it is refused by rule and line, never by what was found.
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
			return "", loci.NewError(loci.CodeInvalidQuery,
				"%s must have at most %d bytes with [REDACTED:rule] in place of its credentials", field,
				loci.MaxContent)
		}
		if field == "title" && utf8.RuneCountInString(text) > loci.MaxTitle {
			text = loci.DeriveTitle(text) // a mark may be longer than what it stands for
		}
		return text, nil
	}
	return "", secretError(field, found[0].Rule, found[0].Line)
}

func secretError(field, rule string, line int) error {
	advice := "remove it"
	if field != "evidence" {
		advice = "remove it, or send secrets: \"redact\""
	}
	return loci.NewError(loci.CodeSecretDetected, "%s holds a credential in line %d (%s): %s.", field, line, rule,
		advice)
}

// rejectSecrets refuses short texts that hold a credential. They say what a memory is or
// where it comes from: what is taken out of them would change that.
func rejectSecrets(policy loci.SecretsPolicy, field string, texts ...string) error {
	if policy == loci.SecretsAllow {
		return nil
	}
	for _, t := range texts {
		if found := secret.Scan(t); len(found) > 0 {
			return loci.NewError(loci.CodeSecretDetected, "%s holds a credential (%s): remove it.", field,
				found[0].Rule)
		}
	}
	return nil
}

// mayHoldSecrets reports a text that clean may have something to do with.
func mayHoldSecrets(texts ...string) bool {
	for _, t := range texts {
		if len(secret.Scan(t)) > 0 {
			return true
		}
	}
	return false
}

// overlap is how much of a text is looked at once more when another is added to
// it: a private key may have its head in the one and its body in the other.
const overlap = 4 << 10

const redactedKey = "[REDACTED:private-key]"

// appendWithPolicy returns a text with another added on a line of its own, cleaned as
// clean does. Lines are counted in the added text.
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
	// A key may come line by line: what was taken out of it is no end of it.
	lines := strings.ReplaceAll(whole[from:], redactedKey, strings.Repeat(" ", len(redactedKey)))
	for _, f := range secret.Scan(lines) {
		if from+f.To <= len(text) {
			continue // it is there already
		}
		if onSecret != loci.OnSecretRedact && policy != loci.SecretsRedact {
			return "", secretError("content, together with what is there,", f.Rule, 1)
		}
		at := max(from+f.From, len(whole)-len(more))
		return whole[:at] + "[REDACTED:" + f.Rule + "]" + whole[from+f.To:], nil
	}
	return whole, nil
}
