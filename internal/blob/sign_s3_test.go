package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

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
