// Package password hashes and checks passwords with argon2id (RFC 9106), a bounded number at once.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
)

// Parameters of argon2id (RFC 9106): 19 MiB, two passes, one lane. A stored
// hash has its own parameters, so that these can rise.
const (
	argonMemory = 19 * 1024 // KiB
	argonTime   = 2
	argonLanes  = 1
	argonKey    = 32 // bytes
)

// Bounds of the hashes of one process: they take 76 MiB at most, and the last
// caller in the queue waits for seconds, not minutes.
const (
	maxHashes         = 4
	MaxWaitingSignIns = 64
	MaxWaitingSignUps = 16
)

// The classes of waiting callers, the most urgent first.
const (
	SignIn = iota
	SignUp
)

// A Hasher hashes and checks passwords, a bounded number at once, because each hash takes 19 MiB and some 20 ms of a
// processor. Networks take turns: see limit.Subnet.
type Hasher struct{ Slots *limit.Semaphore[limit.Key] }

// NewHasher returns a hasher that uses at most maxHashes processors.
func NewHasher() Hasher {
	return Hasher{limit.NewSemaphore[limit.Key](limit.Bounds{
		Total:   min(runtime.GOMAXPROCS(0), maxHashes),
		Classes: []int{SignIn: MaxWaitingSignIns, SignUp: MaxWaitingSignUps},
		Refusal: limit.Refusal{Name: "password hashes", Code: loci.CodeUnavailable, RetryAfter: 2 * time.Second,
			Message: "Too many people sign in or register at this moment: wait for Retry-After seconds."},
	})}
}

func (p Hasher) deriveKey(ctx context.Context, class int, address, password string,
	k phcHash) (hash []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	release, err := p.Slots.Acquire(ctx, class, limit.Subnet(address), 1)
	if err != nil {
		return nil, err
	}
	defer release()
	// One form for all keyboards (RFC 8265, section 4.2.2).
	return argon2.IDKey(norm.NFC.Bytes([]byte(password)), k.salt, k.time, k.memory, k.lanes, argonKey), nil
}

// Hash returns the PHC string of a new password, which comes from an address. It refuses one that is guessed first.
func (p Hasher) Hash(ctx context.Context, address string, n New) (string, error) {
	if err := n.check(); err != nil {
		return "", err
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	k := phcHash{memory: argonMemory, time: argonTime, lanes: argonLanes, salt: salt}
	hash, err := p.deriveKey(ctx, SignUp, address, string(n.Password), k)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonLanes,
		e.EncodeToString(salt), e.EncodeToString(hash)), err
}

// dummyHash is compared where no account or no password exists, so that the answer takes equally long.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// Check reports whether a password, which comes from an address, matches a PHC string.
func (p Hasher) Check(ctx context.Context, address, phc, password string) (bool, error) {
	known := phc != ""
	if !known {
		phc = dummyHash
	}
	k, err := parsePHC(phc)
	if err != nil {
		return false, fmt.Errorf("password: a stored password: %w", err)
	}
	hash, err := p.deriveKey(ctx, SignIn, address, password, k)
	return known && err == nil && subtle.ConstantTimeCompare(hash, k.key) == 1, err
}

// A phcHash is a decoded PHC string.
type phcHash struct {
	memory, time uint32
	lanes        uint8
	salt, key    []byte
}

func parsePHC(s string) (k phcHash, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return k, errors.New("not an argon2id hash of this version")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &k.memory, &k.time, &k.lanes); err != nil {
		return k, err
	}
	if k.time == 0 || k.lanes == 0 {
		return k, errors.New("the cost parameters are missing")
	}
	if k.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err == nil {
		k.key, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	return k, err
}
