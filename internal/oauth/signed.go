package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// requestTTL is how long a person may take to sign in, and then again to decide.
const requestTTL = 10 * time.Minute

// A request is the checked request of a client. It travels through the browser as signed text: nothing is stored before
// the person decides.
type request struct {
	ClientID    string    `json:"client"`
	ClientName  string    `json:"name"`
	ClientURI   string    `json:"uri,omitempty"`
	ClientHost  string    `json:"host,omitempty"`
	RedirectURI string    `json:"redirect"`
	Challenge   string    `json:"challenge"`
	State       []byte    `json:"state,omitempty"`   // any bytes
	Account     bool      `json:"account,omitempty"` // the client asks for the whole account
	SignIn      loci.ID   `json:"signIn,omitempty"`  // that it is bound to, or ""
	Expires     loci.Time `json:"expires"`
}

// A signer signs requests with a key that it derives from the secret of the instance.
type signer struct {
	secret func() []byte
	now    func() loci.Time
}

// seal returns the signed text of a request, which is valid for requestTTL from now.
func (s signer) seal(r request) (string, error) {
	r.Expires = s.now() + loci.Time(requestTTL.Microseconds())
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + s.sign(text), nil
}

func (s signer) sign(text string) string {
	key := hmac.New(sha256.New, s.secret())
	key.Write([]byte("loci oauth request"))
	m := hmac.New(sha256.New, key.Sum(nil))
	m.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// Errors of signed texts, for the person.
var (
	errNotSigned = loci.Errorf(loci.CodeInvalidQuery,
		"This request is not complete, or was changed.")
	errExpired = loci.Errorf(loci.CodeInvalidQuery,
		"This request is older than ten minutes.")
	errOtherSignIn = loci.Errorf(loci.CodeInvalidQuery,
		"This request belongs to another sign-in.")
)

// open returns the request of a signed text that is bound to a sign-in. An unbound one is bound to "".
func (s signer) open(signed string, signIn loci.ID) (r request, err error) {
	text, signature, ok := strings.Cut(signed, ".")
	if !ok || !hmac.Equal([]byte(signature), []byte(s.sign(text))) {
		return r, errNotSigned
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	switch {
	case err != nil:
		return r, errNotSigned
	case s.now() >= r.Expires:
		return r, errExpired
	case r.SignIn != signIn:
		return r, errOtherSignIn
	}
	return r, nil
}
