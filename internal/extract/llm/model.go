package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/openai"
)

// Bounds of a call.
const (
	requestTimeout   = 90 * time.Second // less than a background job may take
	maxResponseBytes = 256 << 10
	minAnswerTokens  = 100
	maxAnswerTokens  = 2000 // a model that reasons needs most of them for that
	frameTokens      = 32   // of the roles and separators of a conversation
	bytesPerToken    = 3    // English text has four, code and other scripts fewer
)

// maxUsage bounds the number of tokens that a service may claim.
const maxUsage = 1 << 24

// A Model is a language model behind a service.
type Model struct {
	client *openai.Client
	name   string

	// newLimit is set once the service refuses max_tokens: the newer models of OpenAI have max_completion_tokens.
	newLimit atomic.Bool
}

// Endpoint returns the address of requests: a path without /chat/completions at its end gets it.
func Endpoint(address string) (*url.URL, error) { return openai.Endpoint(address, "/chat/completions") }

// New returns a model of a service. address is the base of an API or its whole Endpoint. A key may be empty. Nothing is
// sent yet.
func New(address, key, name string) (*Model, error) {
	endpoint, err := Endpoint(address)
	if err != nil {
		return nil, err
	}
	if err := openai.CheckKey(key); err != nil {
		return nil, err
	}
	return &Model{client: openai.New(endpoint, key, requestTimeout, maxResponseBytes), name: name}, nil
}

// Cost returns the fewest and the most tokens that a turn needs. They are estimates: no service counts before a call.
func (m *Model) Cost(t extract.Turn) (least, most int64) {
	n := inputTokens(data(t))
	return n + minAnswerTokens, n + maxAnswerTokens
}

func inputTokens(user string) int64 {
	return int64(len(instruction)+len(user))/bytesPerToken + frameTokens
}

// Extract extracts from a turn within a number of tokens. A call that may have run, and has no count, used all of them.
func (m *Model) Extract(ctx context.Context, t extract.Turn,
	tokens int64) (list []extract.Statement, used int64, err error) {
	user := data(t)
	body, err := m.complete(ctx, user, max(tokens-inputTokens(user), 1))
	if err != nil {
		e, ok := errors.AsType[*openai.Error](err)
		if ok && e.MayHaveRun {
			used = tokens
		}
		err = fmt.Errorf("llm: %s %w", m.client.Host(), err)
		if ok && e.RetryAfter > 0 {
			err = &extract.BusyError{Pause: e.RetryAfter, Err: err}
		}
		return nil, used, err
	}
	list, used, err = decodeAnswer(body)
	return list, cmp.Or(used, tokens), err
}

// A message is a message of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// complete requests an answer of a length. It tries the other name of the limit where the service refuses one.
func (m *Model) complete(ctx context.Context, user string, limit int64) ([]byte, error) {
	in := map[string]any{"model": m.name, "response_format": map[string]string{"type": "json_object"},
		"messages": []message{{"system", instruction}, {"user", user}}}
	if m.newLimit.Load() {
		in["max_completion_tokens"] = limit
		return m.client.Post(ctx, in)
	}
	in["max_tokens"] = limit
	body, err := m.client.Post(ctx, in)
	if e, ok := errors.AsType[*openai.Error](err); ok && e.Code == openai.CodeUnsupportedParameter {
		delete(in, "max_tokens")
		in["max_completion_tokens"] = limit
		if body, err = m.client.Post(ctx, in); err == nil {
			m.newLimit.Store(true)
		}
	}
	return body, err
}

// encode returns v as JSON with < and > as they are.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // texts can be encoded
		panic(err)
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
