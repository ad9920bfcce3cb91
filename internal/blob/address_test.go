package blob

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

var (
	testKeys = Keys{[]byte("the present key, 32 bytes of it."), []byte("the former key, also 32 bytes...")}
	testNow  = time.Unix(1_800_000_000, 0)
	testPut  = Address{Method: http.MethodPut, ID: "01890000-0000-7000-8000-000000000001",
		Expires: testNow.Add(time.Minute), Size: 1234, Type: "text/plain; charset=utf-8"}
	testGet = Address{Method: http.MethodGet, ID: testPut.ID, Expires: testNow.Add(time.Minute)}
)

func TestAddressIsWhatWasSigned(t *testing.T) {
	t.Parallel()
	for _, a := range []Address{testPut, testGet} {
		for name, keys := range map[string]Keys{"present": testKeys, "former": testKeys[1:]} {
			if got, err := testKeys.Verify(a.Method, a.ID, keys.Sign(a), testNow); err != nil || got != a {
				t.Errorf("%s key: %+v %v", name, got, err)
			}
		}
		other := Keys{[]byte("the key of somebody else, 32 b..")}
		if _, err := testKeys.Verify(a.Method, a.ID, other.Sign(a), testNow); !errors.Is(err, ErrSignature) {
			t.Errorf("another key: %v", err)
		}
	}
	for _, late := range []time.Duration{0, time.Second, time.Hour} {
		if _, err := testKeys.Verify(testGet.Method, testGet.ID, testKeys.Sign(testGet),
			testGet.Expires.Add(late)); !errors.Is(err, ErrExpired) {
			t.Errorf("%v after the end: %v", late, err)
		}
	}
}

func TestChangedAddressIsRefused(t *testing.T) {
	t.Parallel()
	query := testKeys.Sign(testPut)
	changed := map[string]string{"nothing": "", "no signature": testPut.parameters().Encode(),
		"bad escape": query + "&x=%z", "semicolon": strings.Replace(query, "&", ";", 1)}
	for _, name := range []string{paramExpires, paramSize, paramType, paramSignature} {
		for _, value := range []string{"", "0", "1234 ", "+1234", "01234", "9999999999", "text/html", "1e9",
			"99999999999999999999"} {
			q, _ := url.ParseQuery(query)
			q.Set(name, value)
			changed[name+" "+value] = q.Encode()
			q, _ = url.ParseQuery(query)
			q.Add(name, value)
			changed["further "+name+" "+value] = q.Encode()
		}
		q, _ := url.ParseQuery(query)
		q.Del(name)
		changed["no "+name] = q.Encode()
	}
	changed["further parameter"] = query + "&x=1"
	for name, q := range changed {
		if a, err := testKeys.Verify(testPut.Method, testPut.ID, q, testNow); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	for _, c := range []struct {
		method string
		id     loci.ID
	}{{http.MethodGet, testPut.ID}, {http.MethodHead, testPut.ID}, {"", testPut.ID},
		{http.MethodPut, "01890000-0000-7000-8000-000000000002"}, {http.MethodPut, ""}} {
		if _, err := testKeys.Verify(c.method, c.id, query, testNow); !errors.Is(err, ErrSignature) {
			t.Errorf("%s %s: %v", c.method, c.id, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(http.MethodPut, string(testPut.ID), testKeys.Sign(testPut))
	f.Add(http.MethodGet, string(testGet.ID), testKeys.Sign(testGet))
	f.Add(http.MethodPut, string(testPut.ID), "expires=1800000060&size=1&type=a&signature=")
	f.Fuzz(func(t *testing.T, method, id, query string) {
		a, err := testKeys.Verify(method, loci.ID(id), query, testNow)
		if err == nil && a != testPut && a != testGet {
			t.Errorf("%q %q %q is the address %+v", method, id, query, a)
		}
	})
}

func FuzzDisposition(f *testing.F) {
	for _, name := range []string{"a.txt", "../../x", `a"b`, "CON", "😀.png", "\u202egpj.exe", "a;b=c", "%41", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		header := Disposition(name)
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || utf8.ValidString(name) && params["filename"] != name {
			t.Errorf("%q: %s: %q, %v", name, header, params["filename"], err)
		}
		for _, c := range []byte(header) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q: %q", name, header)
			}
		}
		safe := loci.FileName(name).Safe()
		if safe == "" || strings.ContainsAny(safe, "/\\\x00:\n") || safe == "." || safe == ".." ||
			!utf8.ValidString(safe) {
			t.Errorf("%q is not safe as %q", name, safe)
		}
		testenv.Equal(t, loci.FileName(safe).Safe(), safe, name)
	})
}
