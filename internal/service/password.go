package service

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Parameters of argon2id (RFC 9106): 19 MiB, two passes, one lane. A stored
// hash names its own, so that these can rise.
const (
	argonMemory = 19 * 1024 // KiB
	argonTime   = 2
	argonLanes  = 1
	argonKey    = 32 // bytes
)

// hashing bounds how many hashes are computed at once: each takes 19 MiB and
// some 20 ms.
var hashing = make(chan struct{}, runtime.GOMAXPROCS(0))

func argon(ctx context.Context, password string, salt []byte, time, memory uint32, lanes uint8) ([]byte, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
		// One form for all keyboards (RFC 8265, section 4.2.2).
		return argon2.IDKey(norm.NFC.Bytes([]byte(password)), salt, time, memory, lanes, argonKey), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hashPassword returns the PHC string of a password.
func hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, 16)
	rand.Read(salt)
	hash, err := argon(ctx, password, salt, argonTime, argonMemory, argonLanes)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonLanes,
		e.EncodeToString(salt), e.EncodeToString(hash)), err
}

// nobody is compared with where there is no account or no password, so that
// the answer takes as long as for one that is there.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// checkPassword reports whether a password is the one of a PHC string.
func checkPassword(ctx context.Context, phc, password string) (bool, error) {
	known := phc != ""
	if !known {
		phc = nobody
	}
	k, err := parsePHC(phc)
	if err != nil {
		return false, fmt.Errorf("service: a stored password: %w", err)
	}
	hash, err := argon(ctx, password, k.salt, k.time, k.memory, k.lanes)
	return known && err == nil && subtle.ConstantTimeCompare(hash, k.hash) == 1, err
}

// A kept password is what a PHC string holds.
type kept struct {
	memory, time uint32
	lanes        uint8
	salt, hash   []byte
}

func parsePHC(s string) (k kept, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return k, errors.New("it is no argon2id of this version")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &k.memory, &k.time, &k.lanes); err != nil {
		return k, err
	}
	if k.time == 0 || k.lanes == 0 {
		return k, errors.New("it names no cost")
	}
	if k.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err == nil {
		k.hash, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	return k, err
}
