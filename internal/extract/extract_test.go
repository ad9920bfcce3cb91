package extract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/extract"
)

var friday = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func TestFromPromptAndResponseDraw(t *testing.T) {
	cases := []struct {
		previous, prompt, response string
		fromPrompt, fromResponse   []extract.Statement
	}{
		{"", "Which scheduler shall the billing service use? We decided to use Quartzabc as the scheduler for billing.",
			"Decision: the billing service uses Quartzabc as its scheduler from now on.",
			[]extract.Statement{{Text: "We decided to use Quartzabc as the scheduler for billing.",
				Type: loci.TypeDecision}}, nil},
		{"", "Which registry do we use? The credential is [REDACTED:github-pat]",
			"Decision: the build pushes to the Rubyabc registry with the credential [REDACTED:github-pat]", nil,
			[]extract.Statement{{Text: "Decision: the build pushes to the Rubyabc registry with the credential " +
				"[REDACTED:github-pat]", Type: loci.TypeDecision}}},
		{"", "Remind me to call the vendor by Friday.", "",
			[]extract.Statement{{Text: "Remind me to call the vendor by Friday (said 2026-11-20).",
				Type: loci.TypeTask}}, nil},
		{"Should I store prices as cents?", "Yes, do that.", "",
			[]extract.Statement{{Text: "Store prices as cents.", Type: loci.TypeDecision}}, nil},
		{"", "~~~\n│ We decided to use tea.\n~~~\n```\nWe decided to use tea.\n```\n> We decided to use tea.\n" +
			"<tool_result>We decided to use tea.", "<thinking>\nWe decided to use tea.</thinking>", nil, nil},
		{"", "We decided to use tea. Never mind.", "", nil, nil},
		{"", "Maybe we decided to use tea.", "", nil, nil},
	}
	for _, c := range cases {
		turn := extract.Turn{Previous: c.previous, Prompt: c.prompt, Response: c.response, SaidOn: friday}
		if got := extract.FromPrompt(turn); !slices.Equal(got, c.fromPrompt) {
			t.Errorf("prompt %q: %q", c.prompt, got)
		}
		if got := extract.FromResponse(turn); !slices.Equal(got, c.fromResponse) {
			t.Errorf("response %q: %q", c.response, got)
		}
	}
}

func FuzzFromPrompt(f *testing.F) {
	f.Add("I suggest we cap retries.", "yes, do that", "Decision: cap retries at five.")
	f.Add("1. a\n2. b", "option 2 <think>", "~~~\n│ We decided to use tea\n")
	f.Add("Should I \xffx?", "yes", "\x00. ")
	f.Fuzz(func(t *testing.T, previous, prompt, response string) {
		turn := extract.Turn{Previous: previous, Prompt: prompt, Response: response, SaidOn: friday}
		first, second := extract.FromPrompt(turn), extract.FromResponse(turn)
		if len(first) > 5 || len(second) > 5 || !slices.Equal(first, extract.FromPrompt(turn)) ||
			!slices.Equal(second, extract.FromResponse(turn)) {
			t.Fatalf("%q, %q", first, second)
		}
		for _, s := range append(first, second...) {
			for _, word := range strings.Fields(strings.Replace(s.Text, " (said 2026-11-20)", "", 1)) {
				word = strings.ToLower(strings.TrimRight(word, "."))
				if !strings.Contains(strings.ToLower(previous+"\n"+prompt+"\n"+response), word) {
					t.Fatalf("%q is not of the input", word)
				}
			}
		}
		fenced := extract.Turn{Prompt: "<tool_result>" + strings.ReplaceAll(prompt, "</", "") + "</tool_result>"}
		if got := extract.FromPrompt(fenced); len(got) != 0 {
			t.Fatalf("drawn of a tool: %q", got)
		}
	})
}
