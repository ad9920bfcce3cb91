package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/loci-memory/loci"
)

// Errors of addresses.
var (
	ErrSignature = errors.New("blob: the address is not signed, or was changed")
	ErrExpired   = errors.New("blob: the address has expired")
)

// The methods of addresses.
const (
	MethodPut = http.MethodPut
	MethodGet = http.MethodGet
)

// An Address permits one method on one object until a time. The address of an upload names its length and media type.
type Address struct {
	Method  string
	ID      loci.ID
	Expires time.Time // in whole seconds
	Size    int64
	Type    string
}

// Keys sign addresses. The first one signs, and all verify: addresses outlive a rotation.
type Keys [][]byte

// Names of query parameters.
const (
	paramExpires   = "expires"
	paramSize      = "size"
	paramType      = "type"
	paramSignature = "signature"
)

// parameters returns the parameters of an address without its signature.
func (a Address) parameters() url.Values {
	q := url.Values{paramExpires: {strconv.FormatInt(a.Expires.Unix(), 10)}}
	if a.Method == MethodPut {
		q.Set(paramSize, strconv.FormatInt(a.Size, 10))
		q.Set(paramType, a.Type)
	}
	return q
}

// signature returns the signature of an address with a key.
func (a Address) signature(key []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "loci file address 1\n%s\n%s\n%s", a.Method, a.ID, a.parameters().Encode())
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Sign returns the query of an address.
func (k Keys) Sign(a Address) string {
	q := a.parameters()
	q.Set(paramSignature, a.signature(k[0]))
	return q.Encode()
}

// Verify returns the address that a request names, or ErrSignature or ErrExpired.
func (k Keys) Verify(method string, id loci.ID, query string, now time.Time) (Address, error) {
	q, err := url.ParseQuery(query)
	if err != nil || len(q[paramSignature]) != 1 {
		return Address{}, ErrSignature
	}
	a, given := Address{Method: method, ID: id, Type: q.Get(paramType)}, q.Get(paramSignature)
	expires, _ := strconv.ParseInt(q.Get(paramExpires), 10, 64) // compared below
	a.Size, _ = strconv.ParseInt(q.Get(paramSize), 10, 64)
	a.Expires = time.Unix(expires, 0)
	if q.Del(paramSignature); q.Encode() != a.parameters().Encode() { // another spelling, or further parameters
		return Address{}, ErrSignature
	}
	isSigned := false
	for _, key := range k {
		isSigned = hmac.Equal([]byte(given), []byte(a.signature(key))) || isSigned
	}
	switch {
	case !isSigned:
		return Address{}, ErrSignature
	case !now.Before(a.Expires):
		return Address{}, ErrExpired
	}
	return a, nil
}
