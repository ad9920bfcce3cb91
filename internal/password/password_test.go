package password

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestHasherHashesNothingForCallerThatLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := NewHasher()
	if _, err := h.Check(ctx, "", "", "x"); err != context.Canceled || h.Slots.InUse() != 0 {
		t.Errorf("%v, %d slots are in use", err, h.Slots.InUse())
	}
}

// TestNetworkMakesPlaceForAnotherInFullQueue fills the queue from many addresses of one network.
func TestNetworkMakesPlaceForAnotherInFullQueue(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	release := h.Slots.Take(limit.Key{}, h.Slots.Total())
	ctx, leave := context.WithCancel(t.Context())
	flood := make(chan error, MaxWaitingSignIns)
	for i := range MaxWaitingSignIns {
		go func() {
			_, err := h.Check(ctx, fmt.Sprint("192.0.2.", i), "", "x")
			flood <- err
		}()
	}
	waittest.Until(t, func() bool { return h.Slots.Waiting(SignIn) == MaxWaitingSignIns })
	other := make(chan error, 1)
	go func() {
		_, err := h.Check(t.Context(), "198.51.100.1", "", "x")
		other <- err
	}()
	if err := <-flood; !loci.Is(err, loci.CodeUnavailable) {
		t.Errorf("the last of the network: %v", err)
	}
	leave()
	for range MaxWaitingSignIns - 1 {
		<-flood
	}
	release()
	if err := <-other; err != nil {
		t.Errorf("another network: %v", err)
	}
}

func TestPasswordsAreStoredAsPHCStrings(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"correct horse", "пароль от всего", "with $ and ,=", "\x00nul"} {
		n := New{Password: loci.Password(password)}
		phc, err := NewHasher().Hash(t.Context(), "", n)
		if err != nil || !regexp.MustCompile(
			`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`).MatchString(phc) {
			t.Fatalf("%s %v", phc, err)
		}
		if again, _ := NewHasher().Hash(t.Context(), "", n); again == phc {
			t.Error("two hashes have one salt")
		}
		for try, want := range map[string]bool{password: true, password + " ": false, "": false} {
			testenv.Equal(t, testenv.Must(NewHasher().Check(t.Context(), "", phc, try))(t), want, try, password)
		}
	}
}

func TestPasswordIsNormalized(t *testing.T) {
	t.Parallel()
	phc := testenv.Must(NewHasher().Hash(t.Context(), "", New{Password: "caf\u00e9 au lait"}))(t)
	for try, want := range map[string]bool{"cafe\u0301 au lait": true, "cafe au lait": false} {
		testenv.Equal(t, testenv.Must(NewHasher().Check(t.Context(), "", phc, try))(t), want, try)
	}
}

// An old hash has its own cost parameters.
func TestHashWithOtherCostIsChecked(t *testing.T) {
	t.Parallel()
	const phc = "$argon2id$v=19$m=64,t=3,p=2$c29tZXNhbHRzb21lc2FsdA$"
	cost := phcHash{memory: 64, time: 3, lanes: 2, salt: []byte("somesaltsomesalt")}
	hash := testenv.Must(NewHasher().deriveKey(t.Context(), SignIn, "", "old", cost))(t)
	for try, want := range map[string]bool{"old": true, "new": false} {
		stored := phc + base64.RawStdEncoding.EncodeToString(hash)
		testenv.Equal(t, testenv.Must(NewHasher().Check(t.Context(), "", stored, try))(t), want, try)
	}
}

func TestPasswordFailsForAccountWithoutPassword(t *testing.T) {
	t.Parallel()
	for _, try := range []string{"", "anything"} {
		if ok, err := NewHasher().Check(t.Context(), "", "", try); ok || err != nil {
			t.Errorf("%q: %v %v", try, ok, err)
		}
	}
}

func TestInvalidHashIsError(t *testing.T) {
	t.Parallel()
	for _, phc := range []string{"plain", "$argon2id$v=19$m=x,t=2,p=1$AAAA$AAAA", "$argon2id$v=19$m=64,t=1,p=1$!$AAAA",
		"$argon2id$v=19$m=64,t=1,p=1$AAAA$!",
		"$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=64,t=0,p=0$AAAA$AAAA"} {
		if ok, err := NewHasher().Check(t.Context(), "", phc, "x"); ok || err == nil {
			t.Errorf("%s: %v %v", phc, ok, err)
		}
	}
}

func TestUnknownAccountCostsOneHash(t *testing.T) {
	t.Parallel()
	made := testenv.Must(NewHasher().Hash(context.Background(), "", New{Password: "correct horse"}))(t)
	// The parameters, and with them time and memory, come before the salt.
	if got, want := strings.Split(dummyHash, "$")[:4], strings.Split(made, "$")[:4]; !slices.Equal(got, want) {
		t.Errorf("a try on nobody costs %v, on somebody %v", got, want)
	}
	if ok, err := NewHasher().Check(context.Background(), "", "", ""); ok || err != nil {
		t.Errorf("nobody has no password: %v, %v", ok, err)
	}
}

func TestHashRefusesPasswordThatIsGuessedFirst(t *testing.T) {
	t.Parallel()
	const email = "Ann.Smith@Example.org"
	for password, want := range map[string]string{
		"          ": "white space", " \t \t \t \t \t": "white space", "\u2003\u00a0\u3000       ": "white space",
		"aaaaaaaaaa": "commonest", "aAaAaAaAaA": "commonest", "1111111111": "commonest",
		email: "address", "ann.smith@example.org": "address", "ann.smithANN.SMITH": "address", " Ann.Smith ": "address",
		"password123": "commonest", "PassWord123": "commonest", "1q2w3e4r5t": "commonest", "QWERTYUIOP": "commonest",
		"ｑｗｅｒｔｙｕｉｏｐ": "commonest", "1234567890 ": "commonest",
		"correct horse": "", "ann.smith1": "", "bob@example.org": "", "password1234567": "", "1234567890 a": "",
	} {
		phc, err := NewHasher().Hash(t.Context(), "", New{"newPassword", loci.Password(password), email})
		if want == "" {
			if phc == "" || err != nil {
				t.Errorf("%q: %v", password, err)
			}
		} else if e := loci.AsError(err); e.Code != loci.CodeInvalidQuery || strings.Contains(e.Message, password) ||
			!strings.HasPrefix(e.Message, "newPassword ") || !strings.Contains(e.Message, want) {
			t.Errorf("%q: %v, want %s", password, err, want)
		}
	}
}

// The list is compared with folded passwords that have ten characters.
func TestCommonPasswordsAreFoldedAndSorted(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(commonList, "\n"), "\n")
	if !slices.IsSorted(lines) || len(slices.Compact(slices.Clone(lines))) != len(lines) || len(lines) < 300 {
		t.Errorf("%d lines are not sorted, or repeat", len(lines))
	}
	for _, x := range lines {
		if x != fold(x) || len(x) < loci.Password("").Rule().MinLength {
			t.Errorf("%q is never compared", x)
		}
	}
}
