package secret

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/title"
)

// Apply returns a text as it may be stored. The text is unchanged if it holds no credential or the workspace allows
// credentials. Otherwise it is redacted on request, or refused by rule and line, without the credential.
func Apply(policy loci.SecretsPolicy, onSecret loci.OnSecret, field, text string) (string, error) {
	if policy == loci.SecretsAllow && onSecret == "" {
		return text, nil
	}
	found := Scan(text)
	if len(found) == 0 {
		return text, nil
	}
	if onSecret == loci.OnSecretRedact || policy == loci.SecretsRedact {
		if text, _ = Redact(text); len(text) > loci.MaxContent {
			return "", loci.Errorf(loci.CodeInvalidQuery,
				"%s must have at most %d bytes with [REDACTED:rule] in place of its credentials", field,
				loci.MaxContent)
		}
		if strings.HasSuffix(field, "title") && utf8.RuneCountInString(text) > loci.MaxTitle {
			text = title.Truncate(text) // a mark may be longer than the credential
		}
		return text, nil
	}
	return "", FoundError(field, found[0].Rule, found[0].Line)
}

// These begin the names of fields of candidates and messages, which cannot be redacted on request.
const (
	CandidateField = "candidate "
	MessageField   = "message "
)

// FoundError returns the error for a field that holds a credential.
func FoundError(field, rule string, line int) error {
	advice := "remove it"
	if field != "evidence" && !strings.HasPrefix(field, CandidateField) && !strings.HasPrefix(field, MessageField) {
		advice = "remove it, or send secrets: \"redact\""
	}
	return loci.Errorf(loci.CodeSecretDetected, "%s holds a credential in line %d (%s): %s.", field, line, rule, advice)
}

// Reject refuses short texts that hold a credential. Tags and sources are never redacted: that would change their
// meaning.
func Reject(policy loci.SecretsPolicy, field string, texts ...string) error {
	if policy == loci.SecretsAllow {
		return nil
	}
	for _, t := range texts {
		if found := Scan(t); len(found) > 0 {
			return loci.Errorf(loci.CodeSecretDetected, "%s holds a credential (%s): remove it.", field, found[0].Rule)
		}
	}
	return nil
}

// ApplyToTitle returns a derived title as it may be stored. Its content is allowed, so that a credential in it was one
// word only without its Markdown: it is redacted.
func ApplyToTitle(policy loci.SecretsPolicy, onSecret loci.OnSecret, derived string) string {
	if policy == loci.SecretsAllow && onSecret == "" {
		return derived
	}
	return title.Truncate(Redacted(derived))
}

// Redacted returns a text with its credentials replaced. The texts of agents are redacted under every policy.
func Redacted[T ~string](text T) T {
	if len(Scan(string(text))) == 0 {
		return text
	}
	out, _ := Redact(string(text))
	return T(out)
}
