package service

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/store"
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

// A checkedText is the result of applySecretPolicy or appendWithPolicy, with its derived title where one is wanted.
type checkedText struct {
	content, title string
	err            error
}

// replace gives a memory the text. A given title stays.
func (c checkedText) replace(next *loci.Memory) {
	if next.Content = c.content; next.TitleDerived {
		next.Title = c.title
	}
}

// scanCostDivisor is the cost of analyzing a text divided by that of scanning it.
const scanCostDivisor = 12

// A textCost states the bytes that the computation of a text reads.
type textCost struct {
	scanned int // for credentials
	titled  int // for a derived title; 0 if the title is given
}

// computeText returns check(), which scans a text under a policy, and the derived title of its result. A long
// computation runs outside of the transaction: see store.Compute, also for key. So an update with a long text runs its
// transaction three times: after this, and after the analysis for the index.
func computeText(tx *store.Tx, policy loci.SecretsPolicy, onSecret loci.OnSecret, cost textCost,
	check func() (string, error), key ...string) (checkedText, error) {
	weight := min(cost.titled, title.MaxParsed)
	if policy != loci.SecretsAllow || onSecret != "" {
		weight += cost.scanned / scanCostDivisor
	}
	c, err := store.Compute(tx, weight, func() (c checkedText) {
		if c.content, c.err = check(); c.err == nil && cost.titled > 0 {
			c.title = checkedTitle(policy, onSecret, title.Derive(c.content))
		}
		return c
	}, append(key, string(policy), strconv.FormatBool(cost.titled > 0))...)
	return c, cmp.Or(err, c.err)
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
