package main

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/loci-memory/loci/internal/testenv"
)

// browser is a program that stands for the person's browser: it opens an address, signs in as $EMAIL with $PASSWORD,
// and answers the consent page by $DECISION (allow unless it is set). It ticks the workspaces whose label has $TICK.
func browser() {
	page, err := openAndConsent(os.Args[1])
	if err == nil && os.Getenv("PAGE") != "" {
		err = os.WriteFile(os.Getenv("PAGE"), []byte(page), 0o600)
	}
	if err != nil {
		answerForServer(os.Args[1], err)
	}
}

// answerForServer ends a sign-in that went wrong, so that its command does not wait for a person.
func answerForServer(address string, failure error) {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	answer := url.Values{"state": q["state"], "iss": {u.Scheme + "://" + u.Host}, "error": {"test_failed"},
		"error_description": {failure.Error()}}
	if res, err := testenv.Client.Get(q.Get("redirect_uri") + "?" + answer.Encode()); err == nil {
		_ = res.Body.Close()
	}
}

func openAndConsent(address string) (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	b := &browsing{client: http.Client{Transport: testenv.Transport, Jar: jar}}
	if err := b.read(b.client.Get(address)); err != nil {
		return "", err
	}
	if err := b.submit("/signin", url.Values{"email": {os.Getenv("EMAIL")},
		"password": {os.Getenv("PASSWORD")}}); err != nil {
		return "", err
	}
	err = b.submit("/oauth/authorize", url.Values{"decision": {cmp.Or(os.Getenv("DECISION"), "allow")},
		"reach": {cmp.Or(os.Getenv("REACH"), "workspaces")}, "workspaces": b.workspaces(os.Getenv("TICK"))})
	return b.page, err
}

// A browsing is a browser with its present page.
type browsing struct {
	client http.Client
	at     *url.URL
	page   string
}

func (b *browsing) read(res *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	b.at, b.page = res.Request.URL, string(text)
	return err
}

var (
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	tickBox     = regexp.MustCompile(`(?s)<label><input type="checkbox" name="workspaces" value="([^"]*)".*?</label>`)
)

// workspaces returns the boxes whose label has a text.
func (b *browsing) workspaces(label string) (ids []string) {
	for _, box := range tickBox.FindAllStringSubmatch(b.page, -1) {
		if strings.Contains(box[0], label) {
			ids = append(ids, box[1])
		}
	}
	return ids
}

// submit fills and sends the form of the page with this action.
func (b *browsing) submit(action string, fields url.Values) error {
	_, form, ok := strings.Cut(b.page, `action="`+action+`"`)
	if !ok {
		return fmt.Errorf("%s has no form for %s: %s", b.at.Redacted(), action, b.page)
	}
	form, _, _ = strings.Cut(form, "</form>")
	for _, hidden := range hiddenInput.FindAllStringSubmatch(form, -1) {
		fields.Set(hidden[1], html.UnescapeString(hidden[2]))
	}
	to := b.at.ResolveReference(&url.URL{Path: action})
	req, err := http.NewRequest(http.MethodPost, to.String(), strings.NewReader(fields.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", to.Scheme+"://"+to.Host)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.read(b.client.Do(req))
}
