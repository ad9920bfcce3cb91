package secrettest

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// keySamples draws samples of more than letters: private keys, tokens made of JSON.
func keySamples(r *rand.Rand) (all []Sample) {
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		encode([]byte(`{"sub":"`+RandomString(r, alphabets['a'], 20)+`"}`)) + "." + RandomString(r, alphabets['-'], 43)
	region := base64.StdEncoding.EncodeToString([]byte(`{"iat":` + RandomString(r, digitLetters[1:], 9) +
		`.5,"url":"https://sentry.io","region_url":"https://us.sentry.io","org":"` + RandomString(r, lowerLetters, 6) +
		`"}`))
	all = append(all,
		wholeSample("jwt", token),
		wholeSample("jwt-base64", base64.StdEncoding.EncodeToString([]byte(token))),
		wholeSample("sentry-org-token", "sntrys_"+region+"_"+RandomString(r, alphabets['+'], 43)),
	)
	for _, kind := range []string{"", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "} {
		all = append(all, wholeSample("private-key", RandomPEM(r, kind+"PRIVATE KEY", 8, "\n")))
	}
	lines := strings.Repeat(RandomString(r, alphabets['+'], 64)+"\n", 2) + RandomString(r, alphabets['+'], 44)
	id := base64.RawStdEncoding.EncodeToString([]byte("1" + RandomString(r, digitLetters, 17)))
	user := base64.StdEncoding.EncodeToString([]byte("joe:" + RandomString(r, alphabets['a'], 20)))
	all = append(all,
		embeddedSample("putty-private-key", "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 3\n", lines,
			"\nPrivate-MAC: "+RandomString(r, alphabets['h'], 64)+"\n"),
		wholeSample("discord-bot-token", id+"."+RandomString(r, alphabets['-'], 6)+"."+
			RandomString(r, alphabets['-'], 38)),
		embeddedSample("authorization-header", "Authorization: Basic ", user, "\n"),
	)
	return append(all, wholeSample("private-key", RandomPEM(r, "PGP PRIVATE KEY BLOCK", 9, "\n")))
}

func wholeSample(rule, text string) Sample { return Sample{Rule: rule, Text: text, To: len(text)} }

func embeddedSample(rule, before, secret, behind string) Sample {
	return Sample{Rule: rule, Text: before + secret + behind, From: len(before), To: len(before) + len(secret)}
}

// RandomPEM draws a key of some full lines and a short one.
func RandomPEM(r *rand.Rand, label string, lines int, newline string) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + label + "-----" + newline)
	for range lines {
		b.WriteString(RandomString(r, alphabets['+'], 64) + newline)
	}
	b.WriteString(RandomString(r, alphabets['a'], 22) + "==" + newline)
	b.WriteString("-----END " + label + "-----")
	return b.String()
}
