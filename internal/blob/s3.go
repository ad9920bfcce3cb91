package blob

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
)

// An S3 keeps objects in a bucket of S3, or of a server that speaks its protocol.
type S3 struct {
	client         *minio.Client
	transport      http.RoundTripper // nil is the default
	bucket, prefix string
	direct         bool // clients use addresses of the bucket in place of Loci's
}

// Direct returns a bucket whose own addresses clients use, or nil.
func Direct(b Bucket) *S3 {
	if s3, ok := b.(*S3); ok && s3.direct {
		return s3
	}
	return nil
}

// Environment returns a variable of the environment, or "".
type Environment func(name string) string

// OpenS3 returns the bucket of an address: s3://bucket/prefix?endpoint=&region=&path=1&direct=1. The keys are in the
// usual variables of the environment. It connects to nothing.
func OpenS3(address string, env Environment) (*S3, error) { return openS3(address, env, nil) }

// openS3 is OpenS3 with another transport than the default.
func openS3(address string, env Environment, transport http.RoundTripper) (*S3, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("must be s3://BUCKET or s3://BUCKET/PREFIX, with parameters after ?")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("has parameters that cannot be read")
	}
	for name, values := range q {
		switch {
		case !slices.Contains([]string{"endpoint", "region", "path", "direct"}, name):
			return nil, fmt.Errorf("has the unknown parameter %q: endpoint, region, path and direct are known", name)
		case len(values) > 1:
			return nil, fmt.Errorf("has the parameter %s twice", name)
		}
	}
	b := &S3{transport: transport, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	lookup := minio.BucketLookupDNS
	for name, set := range map[string]func(){"path": func() { lookup = minio.BucketLookupPath },
		"direct": func() { b.direct = true }} {
		switch q.Get(name) {
		case "1":
			set()
		case "", "0":
		default:
			return nil, fmt.Errorf("has the parameter %s=%s: it is 0 or 1", name, q.Get(name))
		}
	}
	key, secret := env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")
	if key == "" || secret == "" {
		return nil, errors.New("needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	region := cmp.Or(q.Get("region"), env("AWS_REGION"), env("AWS_DEFAULT_REGION"), "us-east-1")
	host, secure, err := endpointOf(cmp.Or(q.Get("endpoint"), env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"),
		"https://s3."+region+".amazonaws.com"))
	if err != nil {
		return nil, err
	}
	if err := s3utils.CheckValidBucketName(u.Host); err != nil {
		return nil, fmt.Errorf("has the bucket %q: a name has 3 to 63 letters, digits, dots and hyphens", u.Host)
	}
	b.client, err = minio.New(host, &minio.Options{Secure: secure, Region: region, BucketLookup: lookup, MaxRetries: 3,
		Creds: credentials.NewStaticV4(key, secret, env("AWS_SESSION_TOKEN")), Transport: transport})
	if err != nil {
		return nil, fmt.Errorf("is refused: %w", err)
	}
	return b, nil
}

// endpointOf returns the host of an endpoint, and whether it is one of https, which is the default.
func endpointOf(endpoint string) (host string, secure bool, err error) {
	scheme, rest, found := strings.Cut(endpoint, "://")
	if !found {
		scheme, rest = "https", endpoint
	}
	rest = strings.TrimSuffix(rest, "/")
	if rest == "" || strings.ContainsAny(rest, "/?#@") || scheme != "http" && scheme != "https" {
		return "", false, fmt.Errorf("has the endpoint %q: it is HOST:PORT, after http:// or https://", endpoint)
	}
	return rest, scheme == "https", nil
}

func (b *S3) String() string {
	return "bucket s3://" + strings.TrimSuffix(b.bucket+"/"+b.prefix, "/") + " of " + b.client.EndpointURL().Host
}

// key returns the name of an object in the bucket.
func (b *S3) key(id loci.ID) (string, error) {
	if !id.Valid() {
		return "", ErrNotFound
	}
	return b.prefix + string(id), nil
}

// Put implements Bucket.
func (b *S3) Put(ctx context.Context, id loci.ID, body io.Reader, size int64) error {
	key, err := b.key(id)
	if err != nil {
		return err
	}
	exact := &exactReader{body: body, left: size}
	if size == 0 { // the client does not read a body without bytes
		if exact.err = exact.look(); !errors.Is(exact.err, io.EOF) {
			return exact.err
		}
	}
	o := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true}
	o.SetMatchETagExcept("*")
	read := contextio.NewEndable(exact)
	_, err = b.client.PutObject(ctx, b.bucket, key, read, size, o)
	read.End()
	if err != nil && exact.err != nil && !errors.Is(exact.err, io.EOF) {
		return exact.err
	}
	return mapS3(err)
}

// mapS3 returns an error of this package for one of a bucket that callers tell apart.
func mapS3(err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	switch {
	case r.Code == minio.NoSuchKey, r.StatusCode == http.StatusNotFound && r.Code != minio.NoSuchBucket:
		return ErrNotFound
	case r.StatusCode == http.StatusPreconditionFailed, r.Code == "ConditionalRequestConflict":
		return ErrExists
	case r.StatusCode == http.StatusInsufficientStorage, r.Code == "QuotaExceeded":
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("blob: %w", err)
}

// An s3Reader is the Reader of an object.
type s3Reader struct {
	*minio.Object
	size int64
}

func (r s3Reader) Size() int64 { return r.size }

// Open implements Bucket.
func (b *S3) Open(ctx context.Context, id loci.ID) (Reader, error) {
	key, err := b.key(id)
	if err != nil {
		return nil, err
	}
	o, err := b.client.GetObject(ctx, b.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, mapS3(err)
	}
	info, err := o.Stat()
	if err != nil {
		return nil, errors.Join(mapS3(err), o.Close())
	}
	return s3Reader{o, info.Size}, nil
}

// Head implements Bucket.
func (b *S3) Head(ctx context.Context, id loci.ID) (Object, error) {
	key, err := b.key(id)
	if err != nil {
		return Object{}, err
	}
	info, err := b.client.StatObject(ctx, b.bucket, key, minio.StatObjectOptions{})
	return Object{id, info.Size, info.LastModified}, mapS3(err)
}

// Delete implements Bucket.
func (b *S3) Delete(ctx context.Context, id loci.ID) error {
	key, err := b.key(id)
	if err != nil {
		return nil // there is no such object
	}
	err = mapS3(b.client.RemoveObject(ctx, b.bucket, key, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return err
}

// List implements Bucket.
func (b *S3) List(ctx context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends the list after a break
		defer cancel()
		for o := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix}) {
			id := loci.ID(strings.TrimPrefix(o.Key, b.prefix))
			switch {
			case o.Err != nil:
				yield(Object{}, mapS3(o.Err))
				return
			case !id.Valid():
			case !yield(Object{id, o.Size, o.LastModified}, nil):
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Object{}, err)
		}
	}
}

// Check implements Bucket. It looks for the bucket, and writes nothing.
func (b *S3) Check(ctx context.Context) error {
	exists, err := b.client.BucketExists(ctx, b.bucket)
	if err == nil && !exists {
		err = fmt.Errorf("blob: there is no bucket %s", b.bucket)
	}
	return err
}

// SignPut returns an address of the bucket under which a client stores an object of this length and type, if there is
// none, and the headers that it sends with it.
func (b *S3) SignPut(ctx context.Context, a Address,
	sha256 string) (address string, headers map[string]string, err error) {
	key, err := b.key(a.ID)
	if err != nil {
		return "", nil, err
	}
	headers = map[string]string{"Content-Type": a.Type, "If-None-Match": "*", "Content-Length": fmt.Sprint(a.Size)}
	if sha256 != "" {
		sum, err := hex.DecodeString(sha256)
		if err != nil {
			return "", nil, err
		}
		headers["X-Amz-Checksum-Sha256"] = base64.StdEncoding.EncodeToString(sum)
	}
	signed := http.Header{}
	for name, value := range headers {
		signed.Set(name, value)
	}
	u, err := b.client.PresignHeader(ctx, http.MethodPut, b.bucket, key, time.Until(a.Expires), nil, signed)
	if err != nil {
		return "", nil, mapS3(err)
	}
	return u.String(), headers, nil
}

// SignGet returns an address of the bucket under which a client downloads an object, with a Content-Disposition.
func (b *S3) SignGet(ctx context.Context, a Address, disposition string) (string, error) {
	key, err := b.key(a.ID)
	if err != nil {
		return "", err
	}
	u, err := b.client.PresignHeader(ctx, http.MethodGet, b.bucket, key, time.Until(a.Expires), url.Values{
		"response-content-disposition": {disposition}, "response-content-type": {"application/octet-stream"}}, nil)
	if err != nil {
		return "", mapS3(err)
	}
	return u.String(), nil
}
