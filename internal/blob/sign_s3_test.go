package blob

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"
	"golang.org/x/text/runes"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob/blobtest"
	"github.com/loci-memory/loci/internal/testenv"
)

const (
	testBody  = "twelve bytes"
	announced = "as announced"
)

// A directUpload is a request to a presigned address.
type directUpload struct {
	method, address, body string
	header                http.Header
}

// replace changes the address.
func (u *directUpload) replace(part, by string) { u.address = strings.Replace(u.address, part, by, 1) }

// send returns the status of the request.
func (u directUpload) send(t *testing.T, b *S3) (int, string) {
	t.Helper()
	r := testenv.Must(http.NewRequestWithContext(t.Context(), u.method, u.address, strings.NewReader(u.body)))(t)
	r.Header = u.header.Clone()
	r.Header.Del("Content-Length") // that of the body
	response := testenv.Must((&http.Client{Transport: b.transport}).Do(r))(t)
	defer response.Body.Close()
	text := testenv.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(text)
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func TestPresignedUploadIsTheAnnouncedOne(t *testing.T) {
	t.Parallel()
	for _, parameters := range []string{"path=1&direct=1", "direct=1"} {
		t.Run(parameters, func(t *testing.T) {
			t.Parallel()
			b := newS3(t, parameters)
			for name, change := range map[string]func(*directUpload){
				announced:             func(*directUpload) {},
				"longer":              func(u *directUpload) { u.body += "!" },
				"shorter":             func(u *directUpload) { u.body = u.body[1:] },
				"other bytes":         func(u *directUpload) { u.body = strings.ToUpper(u.body) },
				"another type":        func(u *directUpload) { u.header.Set("Content-Type", "text/html") },
				"another checksum":    func(u *directUpload) { u.header.Set("X-Amz-Checksum-Sha256", sum("other")) },
				"without checksum":    func(u *directUpload) { u.header.Del("X-Amz-Checksum-Sha256") },
				"replacing":           func(u *directUpload) { u.header.Del("If-None-Match") },
				"another method":      func(u *directUpload) { u.method = http.MethodDelete },
				"another object":      func(u *directUpload) { u.replace("/files/0", "/files/1") },
				"a longer life":       func(u *directUpload) { u.replace("Expires=", "Expires=9") },
				"another access key":  func(u *directUpload) { u.replace(blobtest.Key, "other") },
				"a further parameter": func(u *directUpload) { u.address += "&x-id=1" },
			} {
				id := newID()
				address, header, err := b.SignPut(t.Context(), Address{Method: http.MethodPut, ID: id,
					Expires: time.Now().Add(time.Minute), Size: int64(len(testBody)), Type: "text/plain"},
					sum(testBody))
				if err != nil {
					t.Fatal(err)
				}
				u := directUpload{http.MethodPut, address, testBody, headerOf(header)}
				change(&u)
				status, text := u.send(t, b)
				_, err = b.Head(t.Context(), id)
				if isAllowed := name == announced; isAllowed != (status == http.StatusOK) ||
					isAllowed == errors.Is(err, ErrNotFound) {
					t.Errorf("%s: %d %s, and then %v", name, status, text, err)
				}
				if name != announced {
					continue
				}
				if status, _ := u.send(t, b); status != http.StatusPreconditionFailed {
					t.Errorf("a second upload: %d", status)
				}
			}
		})
	}
}

func TestPresignedDownloadIsAnAttachment(t *testing.T) {
	t.Parallel()
	b := newS3(t, "path=1&direct=1")
	id := put(t, b, testBody)
	address := testenv.Must(b.SignGet(t.Context(), Address{Method: http.MethodGet, ID: id,
		Expires: time.Now().Add(time.Minute)}, `attachment; filename="a b.txt"`))(t)
	r := testenv.Must((&http.Client{Transport: b.transport}).Get(address))(t)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || string(text) != testBody || r.Header.Get("Content-Type") != "application/octet-stream" ||
		r.Header.Get("Content-Disposition") != `attachment; filename="a b.txt"` {
		t.Errorf("%q %v %v", text, r.Header, err)
	}
	changed := directUpload{http.MethodGet, strings.Replace(address, "attachment", "inline", 1), "", http.Header{}}
	if status, text := changed.send(t, b); status != http.StatusForbidden {
		t.Errorf("as a page: %d %s", status, text)
	}
}

// signatureOf computes the signature of a presigned address by the published algorithm (AWS Signature Version 4).
func signatureOf(method string, u *url.URL, header http.Header) string {
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		io.WriteString(h, text)
		return h.Sum(nil)
	}
	q := u.Query()
	q.Del("X-Amz-Signature")
	signed := strings.Split(q.Get("X-Amz-SignedHeaders"), ";")
	var headers strings.Builder
	for _, name := range signed {
		value := header.Get(name)
		if name == "host" {
			value = u.Host
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	request := strings.Join([]string{method, u.EscapedPath(), strings.ReplaceAll(q.Encode(), "+", "%20"),
		headers.String(), strings.Join(signed, ";"), "UNSIGNED-PAYLOAD"}, "\n")
	scope := strings.SplitN(q.Get("X-Amz-Credential"), "/", 2)[1]
	key := []byte("AWS4" + blobtest.Secret)
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", q.Get("X-Amz-Date"), scope,
		sum(request)}, "\n")))
}

func TestPresignedAddressesHaveTheSignatureOfTheStandard(t *testing.T) {
	t.Parallel()
	for _, parameters := range []string{"path=1", "endpoint=http://h:1&path=1", "", "region=eu-central-1"} {
		b := testenv.Must(OpenS3("s3://bucket/a/b?"+parameters, keysOnly))(t)
		a := Address{Method: http.MethodPut, ID: newID(), Expires: time.Now().Add(time.Hour), Size: 3, Type: "a/b; c=d"}
		address, header, err := b.SignPut(t.Context(), a, sum(testBody))
		if err != nil {
			t.Fatal(err)
		}
		download := testenv.Must(b.SignGet(t.Context(), a, `attachment; filename*=UTF-8''%E2%82%AC.txt`))(t)
		for method, text := range map[string]string{http.MethodPut: address, http.MethodGet: download} {
			u := testenv.Must(url.Parse(text))(t)
			if got, want := u.Query().Get("X-Amz-Signature"), signatureOf(method, u, headerOf(header)); got != want {
				t.Errorf("%s: the signature of %s is not %s", method, text, want)
			}
		}
		u, _ := url.Parse(address)
		want := []string{"content-length", "content-type", "host", "if-none-match", "x-amz-checksum-sha256"}
		if got := strings.Split(u.Query().Get("X-Amz-SignedHeaders"), ";"); !slices.Equal(got, want) {
			t.Errorf("the headers %v are signed, and sent %v", got, slices.Collect(maps.Keys(header)))
		}
	}
}

// headerOf returns the header with these lines.
func headerOf(lines map[string]string) http.Header {
	h := http.Header{}
	for name, value := range lines {
		h.Set(name, value)
	}
	return h
}

// gateway is the server that speaks the protocol of S3 for the tests of this package.
var gateway = sync.OnceValues(func() (g *blobtest.Gateway, err error) {
	g, err = blobtest.Start()
	stopGateway = g.Stop
	return g, err
})

// stopGateway ends the server that was started.
var stopGateway = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopGateway()
	os.Exit(code)
}

// keysOnly is an environment with the keys of the gateway.
var keysOnly = blobtest.Keys

// newS3 returns a new bucket of the gateway.
func newS3(t *testing.T, parameters string) *S3 {
	t.Helper()
	g, err := gateway()
	blobtest.Require(t, g, err)
	name := strings.ToLower("b" + rand.Text()[:12])
	host := "localhost" + g.Address[strings.LastIndexByte(g.Address, ':'):]
	b := testenv.Must(openS3(fmt.Sprintf("s3://%s/files?endpoint=http://%s&%s", name, host, parameters), keysOnly,
		&http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, g.Address) // buckets are subdomains of localhost
		}}))(t)
	testenv.NoError(t, b.client.MakeBucket(context.Background(), name, minio.MakeBucketOptions{}))
	return b
}

func TestSettingsOfS3AreRefusedByName(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"s3://":                      "must be s3://BUCKET",
		"s3:///x":                    "must be s3://BUCKET",
		"https://b":                  "must be s3://BUCKET",
		"s3://b?acl=x":               `unknown parameter "acl"`,
		"s3://b?path=2":              "path=2",
		"s3://b?direct=yes":          "direct=yes",
		"s3://b?region=a&region=b":   "region twice",
		"s3://b?endpoint=ftp://host": `endpoint "ftp://host"`,
		"s3://b?endpoint=h/x":        `endpoint "h/x"`,
		"s3://b?endpoint=u@h":        `endpoint "u@h"`,
		"s3://u:p@b":                 "must be s3://BUCKET",
		"s3://b?x=%zz":               "cannot be read",
		"s3://b":                     `bucket "b"`,
		"s3://127.0.0.1/x":           `bucket "127.0.0.1"`,
	} {
		if b, err := OpenS3(address, keysOnly); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", address, b, err, want)
		}
	}
	if _, err := OpenS3("s3://b", func(string) string { return "" }); err == nil ||
		!strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without keys: %v", err)
	}
	b, err := OpenS3("s3://bkt/x/?endpoint=https://h:1&path=1&direct=1&region=eu-1", keysOnly)
	if err != nil || b.String() != "bucket s3://bkt/x of h:1" || Direct(b) == nil {
		t.Errorf("%v %v", b, err)
	}
}

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
			testenv.Equal(t, testenv.Must(testKeys.Verify(a.Method, a.ID, keys.Sign(a), testNow))(t), a, name)
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
	for _, name := range []string{"a.txt", "../../x", `a"b`, "CON", "😀.png", "a\u202egpj.exe", "\u2066\u200f", "a;b=c", "%41", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		header := Disposition(name)
		kind, params, err := mime.ParseMediaType(header)
		want := runes.Remove(runes.In(unicode.Bidi_Control)).String(name)
		if want == "" {
			want = loci.FileName(name).Safe()
		}
		if err != nil || kind != "attachment" || utf8.ValidString(name) && params["filename"] != want ||
			strings.ContainsFunc(params["filename"], func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }) {
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
