package mcp_test

import (
	"io"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An authorizer sends ann's key with every request.
type authorizer struct{ http.RoundTripper }

func (a authorizer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer ann")
	return a.RoundTripper.RoundTrip(r)
}

// TestServerServesSDKClient holds both transports to the client of the official SDK.
func TestServerServesSDKClient(t *testing.T) {
	t.Parallel()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	clientIn, serverOut := io.Pipe()
	serverIn, clientOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- newFakeService().newServer().Stdio(t.Context(), serverIn, serverOut)
		serverOut.Close()
	}()
	for name, transport := range map[string]sdk.Transport{
		"http": &sdk.StreamableClientTransport{Endpoint: serve(t, newFakeService()),
			HTTPClient: &http.Client{Transport: authorizer{transport}}},
		"stdio": &sdk.IOTransport{Reader: clientIn, Writer: clientOut},
	} {
		s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport,
			nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 10 {
			t.Errorf("%s: %v, %v", name, tools, err)
		}
		made, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_create",
			Arguments: object{"content": "Basalt."}})
		if err != nil || made.IsError || len(made.Content) != 1 {
			t.Errorf("%s: %v, %v", name, made, err)
		}
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_explode"}); err == nil {
			t.Errorf("%s: an unknown tool was called", name)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
