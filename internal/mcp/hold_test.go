package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A fakeStream counts what keeps it alive. It breaks after most of them.
type fakeStream struct {
	kept, most int
	closed     chan struct{}
}

func (s *fakeStream) send([]byte) error { return nil }

func (s *fakeStream) keepAlive() error {
	if s.kept++; s.kept > s.most {
		return errors.New("the client has left")
	}
	return nil
}

func (s *fakeStream) closing() <-chan struct{} { return s.closed }

func TestSubscriptionIsKeptAliveForBoundedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		never := func() bool { return false }
		s := &fakeStream{most: 1000}
		if hold(t.Context(), s, never); time.Since(begun) != maxSubscription || s.kept < 44 || s.kept > 45 {
			t.Errorf("held for %s, kept alive %d times", time.Since(begun), s.kept)
		}
		begun = time.Now()
		if hold(t.Context(), &fakeStream{most: 2}, never); time.Since(begun) != 3*keepAliveInterval {
			t.Errorf("a broken stream was held for %s", time.Since(begun))
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		begun = time.Now()
		if hold(ctx, s, never); time.Since(begun) != time.Second {
			t.Errorf("a client that left was held for %s", time.Since(begun))
		}
		begun = time.Now()
		revoked := func() bool { return time.Since(begun) > time.Minute }
		if hold(t.Context(), s, revoked); time.Since(begun) > time.Minute+2*time.Second {
			t.Errorf("a revoked credential was held for %s", time.Since(begun))
		}
	})
}

func TestParseMessageRejectsLongID(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 0, maxID - 2: 0, maxID - 1: -32600, 1 << 20: -32600} {
		message := `{"jsonrpc":"2.0","method":"ping","id":"` + strings.Repeat("x", n) + `"}`
		if _, err := parseMessage([]byte(message)); (err == nil) != (want == 0) || err != nil && err.Code != want {
			t.Errorf("an id of %d bytes and two quotes: %v", n, err)
		}
	}
}

func TestParseMessageRejectsMisnamedMembers(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]int{
		`{"jsonrpc":"2.0","method":"ping","id":1}`:          0,
		`{"jsonrpc":"2.0","method":"ping","id":1,"idea":2}`: 0,
		`{"jsonrpc":"2.0","method":"ping","ID":1}`:          -32600,
		`{"jsonrpc":"2.0","method":"ping","\u0069d":1}`:     0,
		`{"jsonrpc":"2.0","Method":"ping","id":1}`:          -32600,
	} {
		if _, err := parseMessage([]byte(message)); (err == nil) != (want == 0) || err != nil && err.Code != want {
			t.Errorf("%s: %v", message, err)
		}
	}
}

// FuzzTruncateResult truncates lists of any JSON: the result is JSON within the limit, and removing an argument leaves
// the others unchanged.
func FuzzTruncateResult(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","content":"\ud83c\udfdb\u00e9\"\\","tags":["a","b"],"source":{"name":null,"n":-1.5e3}}`,
		`{}`, `[]`, `5`, `" [{,:}] \\"`, `[[[[{"a":[1,2,{}]}]]]]`, `{ "limit" : 5 , "x" : [ ] }`,
		`{"a":1,"limit":[{"limit":2}]}`, `{"l\u0069mit":5,"x":"\\\""}`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, item []byte, part int) {
		if !json.Valid(item) || len(item) > 4096 {
			return
		}
		long, _ := json.Marshal(string(bytes.Repeat(item, 40_000/(len(item)+1)+1)))
		list := bytes.Repeat(append(bytes.Clone(item), ','), 300)
		raw := append(append(append(append([]byte(`{"content":`), long...), `,"list":[`...), list[:len(list)-1]...),
			`]}`...)
		shown := op.Presentation{Text: "content"}
		read, err := readPart(raw, max(0, part), shown)
		if err == nil && (!json.Valid(read) || len(read) > maxResult) {
			t.Fatalf("%d bytes: %s", len(read), read)
		}
		out, maxItems := truncateResult(raw, shown)
		if out != nil && (!json.Valid(out) || len(out) > maxResult) {
			t.Fatalf("%d bytes: %s", len(out), out)
		}
		if out == nil && (maxItems < 0 || maxItems >= 300) {
			t.Fatalf("space for %d", maxItems)
		}
		checkTruncated(t, item)
	})
}

// checkTruncated compares removeMember and addNumber with a map.
func checkTruncated(t *testing.T, item []byte) {
	var want map[string]any
	if strictjson.Walk(item, nil) != nil || json.Unmarshal(item, &want) != nil || want == nil {
		return
	}
	value, rest := removeMember(item, "limit")
	if _, has := want["limit"]; has != (value != nil) {
		t.Fatalf("limit in %s: %s", item, value)
	}
	want["limit"] = 9.0
	var got map[string]any
	if err := json.Unmarshal(addNumber(rest, "limit", 9), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %v, %v: %v", item, got, want, err)
	}
}
