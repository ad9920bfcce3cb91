// Command judge is a client of Loci made of the official Go SDK; scripts/judges/sdks.mjs runs it with the address of
// the endpoint. Each line of the input is a word: the client lists the tools, stores the word, reads it, and prints a
// line of JSON. The word "expired:..." tells that an hour has passed, which the client's clock shows it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

const callback = "http://127.0.0.1:33418/callback"

// A judge counts the authorizations of one client, whose tokens can be made to look expired.
type judge struct {
	mu             sync.Mutex
	authorizations int
	tokens         *source
}

// A source refreshes a token when the client's clock says so.
type source struct {
	mu      sync.Mutex
	inner   oauth2.TokenSource
	last    *oauth2.Token
	refresh func(*oauth2.Token) oauth2.TokenSource
}

func (s *source) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, err := s.inner.Token()
	if err == nil {
		s.last = token
	}
	return token, err
}

// expire lets the token look an hour old.
func (s *source) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.last
	old.Expiry = time.Now().Add(-time.Minute)
	s.inner = s.refresh(&old)
}

func (j *judge) newSource(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	refresh := func(t *oauth2.Token) oauth2.TokenSource { return c.TokenSource(ctx, t) }
	j.tokens = &source{inner: refresh(t), last: t, refresh: refresh}
	return j.tokens, nil
}

// ask lets the person answer an authorization request.
func (j *judge) ask(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	j.mu.Lock()
	j.authorizations++
	j.mu.Unlock()
	person := exec.CommandContext(ctx, os.Getenv("LOCI_PERSON_NODE"), os.Getenv("LOCI_PERSON"), "--print", args.URL)
	person.Stderr = os.Stderr
	out, err := person.Output()
	if err != nil {
		return nil, fmt.Errorf("the person could not answer: %w", err)
	}
	back, err := url.Parse(strings.TrimSpace(string(out)))
	if err != nil {
		return nil, err
	}
	q := back.Query()
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

var registration = &oauthex.ClientRegistrationMetadata{
	ClientName: "mcp for Go", RedirectURIs: []string{callback}, TokenEndpointAuthMethod: "none",
	GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
}

func (j *judge) connect(ctx context.Context, endpoint string) (*mcp.ClientSession, error) {
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: registration},
		AuthorizationCodeFetcher:        j.ask,
		NewTokenSource:                  j.newSource,
	})
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "judge", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler}, nil)
}

// A record is what the tools print: memory_get the memory itself, memory_create an object with the memory.
type record struct {
	ID, Content string
	Memory      *record
}

func call(ctx context.Context, s *mcp.ClientSession, tool string, args map[string]any) (r record, err error) {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return r, err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || result.IsError {
		return r, fmt.Errorf("%s answered %+v", tool, result.Content[0])
	}
	return r, json.Unmarshal([]byte(text.Text), &r)
}

// remember lists the tools, stores a word and reads it back.
func (j *judge) remember(ctx context.Context, s *mcp.ClientSession, word string) error {
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	made, err := call(ctx, s, "memory_create", map[string]any{"content": "The SDK remembers " + word + "."})
	if err != nil {
		return err
	}
	read, err := call(ctx, s, "memory_get", map[string]any{"memoryId": made.Memory.ID})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"tools": len(list.Tools), "content": read.Content, "authorizations": j.authorizations,
	})
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: judge ENDPOINT")
	}
	j := &judge{}
	var session *mcp.ClientSession
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		word, expired := strings.CutPrefix(lines.Text(), "expired:")
		if session == nil {
			s, err := j.connect(ctx, args[0])
			if err != nil {
				return err
			}
			session = s
		}
		if expired {
			j.tokens.expire()
		}
		if err := j.remember(ctx, session, word); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
