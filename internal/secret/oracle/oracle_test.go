// Package oracle compares the rules with gitleaks, whose names they have. It is
// a module of its own, so that Loci does not depend on gitleaks:
//
//	cd internal/secret/oracle && go test ./...
package oracle

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/zricethezav/gitleaks/v8/detect"
)

// own are rules that gitleaks does not have.
var own = []string{
	"authorization-header", "azure-sas-signature", "discord-bot-token", "discord-webhook-url", "docker-access-token",
	"figma-pat", "generic-password",
	"google-oauth-access-token", "google-oauth-client-secret", "google-oauth-refresh-token", "groq-api-key",
	"heroku-platform-api-key", "loci-access-token", "loci-api-key", "loci-refresh-token",
	"mailgun-api-key", "netrc-password", "notion-integration-secret", "putty-private-key", "replicate-api-token",
	"square-secret", "stripe-webhook-secret",
	"supabase-access-token", "supabase-secret-key", "tailscale-key", "url-password", "vercel-api-token", "xai-api-key",
}

// narrower are rules that find less than those of gitleaks, on purpose.
var narrower = map[string]string{
	"atlassian-api-token": "a value without a shape needs a name that begins with the keyword and " +
		"speaks of a credential",
	"aws-amazon-bedrock-api-key-short-lived": "the fixed start of a key, which every key shares, is no key",
	"cisco-meraki-api-key":                   "as atlassian-api-token",
	"cohere-api-token":                       "as atlassian-api-token",
	"facebook-access-token":                  "the number of an app is a token only when assigned to its name",
	"generic-api-key": "only long random values, assigned to names that end in a word for a " +
		"credential",
	"jwt":                       "a token begins with the base64 of a JSON object",
	"jwt-base64":                "what is inside must be the header of a token",
	"microsoft-teams-webhook":   "the ids in the address are UUIDs",
	"okta-access-token":         "as atlassian-api-token",
	"planetscale-password":      "the prefix is written in small letters",
	"private-key":               "between the lines stands base64",
	"privateai-api-token":       "as atlassian-api-token",
	"sendgrid-api-token":        "its two parts have a length each",
	"slack-config-access-token": "the dot is a dot",
	"slack-webhook-url":         "the dots are dots",
	"sourcegraph-access-token":  "a commit id beside the word is no token",
	"square-access-token":       "a piece of a program in base64 begins with EAAA too, and is less random",
	"vault-service-token":       "the old form, s. and 24 letters, is that of a method too: it needs a name",
}

// left out are rules of gitleaks that Loci does not have, and why.
var leftOut = map[string]string{
	"adobe-client-id": "an id is no secret", "asana-client-id": "an id is no secret",
	"bitbucket-client-id": "an id is no secret",
	"discord-client-id":   "an id is no secret", "linkedin-client-id": "an id is no secret",
	"looker-client-id":      "an id is no secret",
	"messagebird-client-id": "an id is no secret", "new-relic-user-api-id": "an id is no secret",
	"plaid-client-id":    "an id is no secret",
	"sendbird-access-id": "an id is no secret", "sumologic-access-id": "an id is no secret",
	"bittrex-secret-key":                 "it has the shape and the name of bittrex-access-key",
	"authress-service-client-access-key": "its prefixes, sc_ and ext_, are everywhere",
	"curl-auth-header":                   "authorization-header finds it, in commands and elsewhere",
	"curl-auth-user":                     "documentation is full of commands with a user",
	"freemius-secret-key":                "one line of one framework",
	"nuget-config-password":              "a password of any shape",
	"hashicorp-tf-password":              "a password of any shape",
	"kubernetes-secret-yaml":             "a manifest of any value, ConfigMaps look alike",
	"pkcs12-file":                        "a name of a file",
	"sidekiq-secret":                     "a name of one gem", "sidekiq-sensitive-url": "url-password finds it",
}

func detector(t *testing.T) *detect.Detector {
	t.Helper()
	d := testenv.Must(detect.NewDetectorDefaultConfig())(t)
	return d
}

func theirs(d *detect.Detector, text string) (rules []string) {
	for _, f := range d.DetectString(text) {
		rules = append(rules, f.RuleID)
	}
	return rules
}

func ours(text string) (rules []string) {
	for _, f := range secret.Scan(text) {
		rules = append(rules, f.Rule)
	}
	return rules
}

// Both scanners find all samples of our formats, under the same name.
func TestGitleaksFindsOurSamples(t *testing.T) {
	const seeds = 5
	d := detector(t)
	for seed := range uint64(seeds) {
		for _, s := range secrettest.RandomSamples(rand.New(rand.NewPCG(seed, 2))) {
			testenv.EqualSlices(t, ours(s.Text), []string{s.Rule}, "we find", s.Text, s.Rule)
			if got := theirs(d, s.Text); slices.Contains(got, s.Rule) == slices.Contains(own, s.Rule) {
				t.Errorf("they find %v in %s, and we %s", got, s.Text, s.Rule)
			}
		}
	}
}

// In any surroundings both find the same, except for known misses of gitleaks.
func TestScanFindsInSurroundingsWhatGitleaksFinds(t *testing.T) {
	d := detector(t)
	compared := 0
	for _, s := range secrettest.RandomSamples(rand.New(rand.NewPCG(9, 2))) {
		for _, a := range secrettest.Surroundings {
			if a.Behind == "..." {
				continue // dots replace the rest of a value
			}
			in := a.Wrap(s)
			if !slices.Contains(theirs(d, in.Text), s.Rule) {
				continue
			}
			compared++
			if got := ours(in.Text); !slices.Contains(got, s.Rule) {
				t.Errorf("they find %s in %q, and we %v", s.Rule, in.Text, got)
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d texts were compared", compared)
	}
}

// Scan finds every sample of gitleaks' expressions that gitleaks finds, under the same name. These are tokens with a
// shape of their own. Expressions that begin with a name generate unrealistic names; the test above compares those
// rules.
func TestScanFindsSamplesOfGitleaks(t *testing.T) {
	const texts, named = 40, `[\w.-]{0,50}?`
	d := detector(t)
	compared := 0
	for _, name := range secret.Rules() {
		rule := d.Config.Rules[name]
		if slices.Contains(own, name) || strings.HasPrefix(rule.Regex.String(), `(?i)`+named) {
			continue
		}
		// one source for each rule, so that a new rule changes no other sample
		r := rand.New(rand.NewPCG(1, 2))
		missed, drawn := "", 0
		for range texts {
			text, err := match(r, rule.Regex.String())
			if err != nil {
				t.Fatal(name, err)
			}
			// gitleaks needs one of its keywords somewhere in the text.
			text = rule.Keywords[0] + "\n\n " + text + " "
			if !slices.Contains(theirs(d, text), name) {
				continue
			}
			drawn++
			if !slices.Contains(ours(text), name) {
				missed = text
			}
		}
		compared += drawn
		if _, known := narrower[name]; known != (missed != "") {
			t.Errorf("%s: of %d texts we miss %.300q, and that is known: %v", name, drawn, missed, known)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d texts were compared", compared)
	}
}

func TestEveryRuleOfGitleaksIsClassified(t *testing.T) {
	for name := range detector(t).Config.Rules {
		if _, out := leftOut[name]; out == slices.Contains(secret.Rules(), name) {
			t.Errorf("%s: left out: %v, and the other way round in the rules", name, out)
		}
	}
}
