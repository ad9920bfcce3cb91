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

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/attempt"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
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
	maxWaitingSignIns = 64
	maxWaitingSignUps = 16
)

// passwordHasher hashes and checks passwords, a bounded number at once.
type passwordHasher struct{ queue *hashQueue }

func newPasswordHasher() passwordHasher {
	bounds := [hashPriorities]int{hashSignIn: maxWaitingSignIns, hashSignUp: maxWaitingSignUps}
	return passwordHasher{newHashQueue(min(runtime.GOMAXPROCS(0), maxHashes), bounds)}
}

func (p passwordHasher) deriveKey(ctx context.Context, priority hashPriority, network, password string,
	k phcHash) (hash []byte, err error) {
	err = p.queue.run(ctx, priority, network, func() {
		// One form for all keyboards (RFC 8265, section 4.2.2).
		hash = argon2.IDKey(norm.NFC.Bytes([]byte(password)), k.salt, k.time, k.memory, k.lanes, argonKey)
	})
	return hash, err
}

// hash returns the PHC string of a new password, which comes from a network.
func (p passwordHasher) hash(ctx context.Context, network, password string) (string, error) {
	salt := make([]byte, 16)
	rand.Read(salt)
	k := phcHash{memory: argonMemory, time: argonTime, lanes: argonLanes, salt: salt}
	hash, err := p.deriveKey(ctx, hashSignUp, network, password, k)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonLanes,
		e.EncodeToString(salt), e.EncodeToString(hash)), err
}

// dummyHash is compared where no account or no password exists, so that the answer takes equally long.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// check reports whether a password, which comes from a network, matches a PHC string.
func (p passwordHasher) check(ctx context.Context, network, phc, password string) (bool, error) {
	known := phc != ""
	if !known {
		phc = dummyHash
	}
	k, err := parsePHC(phc)
	if err != nil {
		return false, fmt.Errorf("service: a stored password: %w", err)
	}
	hash, err := p.deriveKey(ctx, hashSignIn, network, password, k)
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

// ChangePassword replaces the actor's password, and ends the sign-ins of other browsers.
func (s *Service) ChangePassword(ctx context.Context, actor *identity.Actor, in loci.ChangePassword) (loci.Empty,
	error) {
	was, err := s.checkPassword(ctx, actor, in.CurrentPassword)
	if err != nil {
		return loci.Empty{}, err
	}
	hash, err := s.passwordHasher.hash(ctx, attempt.NetworkOf(actor.ClientAddress), string(in.NewPassword))
	if err != nil {
		return loci.Empty{}, err
	}
	return write(ctx, s, actor, func(tx *store.Tx) (loci.Empty, error) {
		account, err := tx.Account()
		if err == nil {
			err = account.SetPassword(was, hash)
		}
		return loci.Empty{}, err
	})
}

// checkPassword returns the hash of the actor's password, or forbidden for a wrong one. Failures count as failed
// sign-ins.
func (s *Service) checkPassword(ctx context.Context, actor *identity.Actor, p loci.PasswordAttempt) (string, error) {
	release, err := s.signInLimiter.Attempt(accountOf(loci.Email(actor.Email)), actor.ClientAddress)
	if err != nil {
		return "", err
	}
	hash, err := store.SystemRead(ctx, s.Store, "read a password", func(t *store.SystemTx) (string, error) {
		return t.PasswordOf(actor.UserID)
	})
	ok := false
	if err == nil {
		ok, err = s.passwordHasher.check(ctx, attempt.NetworkOf(actor.ClientAddress), hash, string(p))
	}
	if err != nil || ok {
		release()
	}
	if err == nil && !ok {
		err = loci.Errorf(loci.CodeForbidden, "The current password is wrong.")
	}
	return hash, err
}
