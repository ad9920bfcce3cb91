package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func TestAcceptKeepsPlainStatementsOfKnownTypes(t *testing.T) {
	t.Parallel()
	turn := Turn{SaidOn: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
	got := turn.Accept([]Statement{
		{"The report\n is due\x00 by Fri\u200bday.", loci.TypeTask},
		{"The report is due by Friday.", loci.TypeTask},
		{"Staging runs on basalt.", loci.TypeNote},
		{"Too short", loci.TypeFact},
		{strings.Repeat("long ", 400), loci.TypeFact},
		{"Der Server steht im Keller neben der Heizung.", loci.TypeFact},
	})
	want := []Statement{{"The report is due by Friday (said 2026-11-20).", loci.TypeTask},
		{"Der Server steht im Keller neben der Heizung.", loci.TypeFact}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q", got)
	}
}

func TestStatementOfAnyLanguageRepeatsItself(t *testing.T) {
	t.Parallel()
	statement := "サーバーは地下室にあります。"
	if !Repeats(statement, "Notes\n"+statement+"\n") || Repeats(statement, "Notes\n地下室") {
		t.Error("of the same text")
	}
}
