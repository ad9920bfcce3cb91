package oauthclient

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oauthclient/oauthtest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/web/style"
)

func TestSignInSurvivesForeignAnswers(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	_, tokens, err := signIn(t, s, func(in *SignIn) {
		for query, want := range map[string]int{"": 400, "code=c&state=wrong": 400, "code=c": 400, "a=%zz": 400,
			"error=access_denied&state=": 400} {
			if status, text, _ := browse(in.RedirectURI() + "?" + query); status != want ||
				!strings.Contains(text, "does not belong") {
				t.Errorf("%q: %d %s", query, status, text)
			}
		}
		for path, want := range map[string]int{"/": 404, "/favicon.ico": 404} {
			status, _, _ := browse(strings.TrimSuffix(in.RedirectURI(), callbackPath) + path)
			testenv.Equal(t, status, want, path)
		}
		testenv.Equal(t, testenv.Must(testenv.Client.PostForm(in.RedirectURI(), nil))(t).StatusCode, 405, "POST")
		foreign, _ := http.NewRequest(http.MethodGet, in.RedirectURI(), nil)
		foreign.Host = "evil.example"
		testenv.Equal(t, testenv.Must(testenv.Client.Do(foreign))(t).StatusCode, 421, "another host")
		visitPage(in)
	})
	if err != nil || !s.Accepts(tokens.Access) {
		t.Errorf("%+v %v", tokens, err)
	}
}

func TestSignInTakesOneAnswer(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	server, c := register(t, s)
	in := testenv.Must(server.Start(c, true))(t)
	defer in.Close()
	ended := make(chan error, 1)
	go func() { _, err := in.Wait(t.Context()); ended <- err }()
	double := url.Values{"state": {in.state}, "iss": {s.URL}, "code": {"a", "b"}}.Encode()
	if status, text, _ := browse(in.RedirectURI() + "?" + double); status != 400 ||
		!strings.Contains(text, "The terminal shows the reason") {
		t.Errorf("%d %s", status, text)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "two values of code") {
		t.Error(err)
	}
	if status, text, _ := browse(in.Address()); status != 400 || !strings.Contains(text, "answered before") {
		t.Errorf("%d %s", status, text)
	}
	testenv.Equal(t, s.Count("/oauth/token"), 0, "codes were redeemed")
}

func TestSignInTakesPastedAddress(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	_, tokens, err := signIn(t, s, func(in *SignIn) {
		if err := in.Paste(t.Context(), "https://evil.example/callback?code=c"); !loci.Is(err, loci.CodeInvalidQuery) {
			t.Error(err)
		}
		if err := in.Paste(t.Context(), in.RedirectURI()+"?code=c&state=wrong"); !errors.Is(err, errForeign) {
			t.Error(err)
		}
		elsewhere := http.Client{Transport: testenv.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := elsewhere.Get(in.Address())
		if err != nil {
			t.Error(err)
			return
		}
		testenv.Equal(t, in.Paste(t.Context(), " "+res.Header.Get("Location")+"\n"), nil)
	})
	if err != nil || !s.Accepts(tokens.Access) {
		t.Errorf("%+v %v", tokens, err)
	}
}

// TestSignInOutlivesBrowser answers from a browser that hangs up while the code is redeemed.
func TestSignInOutlivesBrowser(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	hungUp := make(chan struct{})
	s.Fail("/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		<-hungUp
		s.Serve(w, r)
	})
	_, tokens, err := signIn(t, s, func(in *SignIn) {
		impatient := http.Client{Transport: testenv.Transport, Timeout: 200 * time.Millisecond}
		if _, err := impatient.Get(in.Address()); err == nil {
			t.Error("the page came before the tokens")
		}
		close(hungUp)
	})
	if err != nil || !s.Accepts(tokens.Access) {
		t.Errorf("%+v %v", tokens, err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	in := testenv.Must(Server{Issuer: "https://loci.example.org"}.Start(Client{}, false))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	in.Close()
	status, _, _ := browse(in.RedirectURI())
	testenv.Equal(t, status, 0, "the port still answers")
}

func FuzzAnswer(f *testing.F) {
	for _, query := range []string{"", "code=c&state=STATE&iss=ISSUER", "error=access_denied&state=STATE&iss=ISSUER",
		"state=STATE&state=STATE", "code=c&state=state", "%zz=1&state=STATE", "state=STATE;code=c",
		"error=a%0Ab&state=STATE"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		in := &SignIn{server: Server{Issuer: "ISSUER"}, state: "STATE", answers: make(chan answer, 1)}
		ended, end := context.WithCancel(t.Context())
		end() // nobody redeems the code
		err := in.answer(ended, query)
		values, _ := url.ParseQuery(query)
		if in.answered != (!errors.Is(err, errForeign)) || in.answered && values.Get("state") != "STATE" {
			t.Fatalf("%q: answered %v, %v", query, in.answered, err)
		}
		if !in.answered {
			return
		}
		a := <-in.answers
		accepted := a.err == nil
		if accepted && (values.Get("iss") != "ISSUER" || a.code == "" || values.Get("error") != "") {
			t.Errorf("%q: accepted as %q", query, a.code)
		}
		if !accepted && strings.ContainsAny(a.err.Error(), "\r\n") {
			t.Errorf("%q: %q has several lines", query, a.err)
		}
	})
}

// The page at the end has the style of the server's pages, which its policy allows by the hash of the very text.
func TestEndPageIsStyled(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	_, _, err := signIn(t, s, func(in *SignIn) {
		res := testenv.Must(testenv.Client.Get(in.RedirectURI() + "?state=wrong"))(t)
		defer res.Body.Close()
		body := string(testenv.Must(io.ReadAll(res.Body))(t))
		_, rest, _ := strings.Cut(body, "<style>")
		sheet, _, _ := strings.Cut(rest, "</style>")
		sum := sha256.Sum256([]byte(sheet))
		testenv.Equal(t, sheet, style.Sheet)
		testenv.Contains(t, res.Header.Get("Content-Security-Policy"),
			"style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		testenv.Contains(t, body, `<div role="alert"><p>This answer does not belong to the running sign-in.</p></div>`)
		_, text, _ := browse(in.Address())
		testenv.Contains(t, text, `<p class="done" role="status">You may close this window: the terminal goes on.</p>`)
	})
	if err != nil {
		t.Error(err)
	}
}
