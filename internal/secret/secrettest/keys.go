package secrettest

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// keys draws what has more than letters: private keys, tokens made of JSON.
func keys(r *rand.Rand) (all []Sample) {
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(`{"sub":"`+Some(r, alphabets['a'], 20)+`"}`)) + "." + Some(r, alphabets['-'], 43)
	region := base64.StdEncoding.EncodeToString([]byte(`{"iat":` + Some(r, digits[1:], 9) + `.5,"url":"https://sentry.io","region_url":"https://us.sentry.io","org":"` + Some(r, small, 6) + `"}`))
	all = append(all,
		whole("jwt", token),
		whole("jwt-base64", base64.StdEncoding.EncodeToString([]byte(token))),
		whole("sentry-org-token", "sntrys_"+region+"_"+Some(r, alphabets['+'], 43)),
	)
	for _, kind := range []string{"", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "} {
		all = append(all, whole("private-key", PEM(r, kind+"PRIVATE KEY", 8, "\n")))
	}
	lines := strings.Repeat(Some(r, alphabets['+'], 64)+"\n", 2) + Some(r, alphabets['+'], 44)
	id := base64.RawStdEncoding.EncodeToString([]byte("1" + Some(r, digits, 17)))
	user := base64.StdEncoding.EncodeToString([]byte("joe:" + Some(r, alphabets['a'], 20)))
	all = append(all,
		inside("putty-private-key", "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 3\n", lines,
			"\nPrivate-MAC: "+Some(r, alphabets['h'], 64)+"\n"),
		whole("discord-bot-token", id+"."+Some(r, alphabets['-'], 6)+"."+Some(r, alphabets['-'], 38)),
		inside("authorization-header", "Authorization: Basic ", user, "\n"),
	)
	return append(all, whole("private-key", PEM(r, "PGP PRIVATE KEY BLOCK", 9, "\n")))
}

func whole(rule, text string) Sample { return Sample{Rule: rule, Text: text, To: len(text)} }

func inside(rule, before, secret, behind string) Sample {
	return Sample{Rule: rule, Text: before + secret + behind, From: len(before), To: len(before) + len(secret)}
}

// PEM draws a key of some full lines and a short one.
func PEM(r *rand.Rand, label string, lines int, newline string) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + label + "-----" + newline)
	for range lines {
		b.WriteString(Some(r, alphabets['+'], 64) + newline)
	}
	b.WriteString(Some(r, alphabets['a'], 22) + "==" + newline)
	b.WriteString("-----END " + label + "-----")
	return b.String()
}
