package memories

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestDifferencesLeadFromOneTextToTheOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after, want string }{
		{"", "", ""}, {"a\n", "a\n", "=a\n"}, {"a", "b", "-a+b"}, {"a\nb\nc\n", "a\nc\n", "=a\n-b\n=c\n"},
		{"a\nb\n", "x\na\nb\ny\n", "+x\n=a\nb\n+y\n"}, {"a\nb\nc\n", "c\nb\na\n", "-a\nb\n=c\n+b\na\n"},
		{strings.Repeat("a\n", 3000), strings.Repeat("b\n", 3000),
			"-" + strings.Repeat("a\n", 3000) + "+" + strings.Repeat("b\n", 3000)},
	} {
		got, before, after := "", "", ""
		for _, d := range differences(c.before, c.after) {
			got += map[string]string{"": "=", "del": "-", "ins": "+"}[d.Kind] + d.Text
			if d.Kind != "ins" {
				before += d.Text
			}
			if d.Kind != "del" {
				after += d.Text
			}
		}
		testenv.Equal(t, before, c.before)
		testenv.Equal(t, after, c.after)
		testenv.Equal(t, len(got), len(c.want), c.want[:min(40, len(c.want))])
	}
}
