package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// knownStatements are statements, sentences that repeat them in other words, and sentences that change them.
var knownStatements = []struct {
	text              string
	repeated, changed []string
}{
	{
		"We decided: staging runs on basalt from now on.",
		[]string{
			"As noted before, staging runs on basalt.",
			"We decided that staging runs on basalt.",
			"As you decided earlier, **staging** runs on `basalt` from now on.",
			"According to the memory, basalt is where staging runs.",
			"Staging is hosted on basalt, as agreed.",
			"Since we decided to run staging on basalt, I'll keep it there.",
			"The decision stands: staging stays on _basalt_.",
			"We've decided staging's host is basalt.",
		},
		[]string{
			"We decided: staging runs on granite now.",
			"We decided: production runs on basalt from now on.",
			"We decided: staging doesn't run on basalt any more.",
			"We decided that staging no longer runs on basalt.",
			"We decided to move staging from basalt to granite.",
			"We decided: staging runs on basalt2 from now on.",
			"We decided to stop running staging on basalt.",
		},
	},
	{
		"The staging database listens on port 5433 and keeps 3 backups.",
		[]string{
			"As noted earlier, the staging database listens on port 5433.",
			"The database of staging is listening on port 5433, with three backups kept.",
			"**Port 5433** is where the staging database listens.",
			"You told me that the staging databases listen on port 5433 and keep 3 backups.",
			"Per the notes, the staging database keeps three backups.",
			"The staging database's port is `5433`.",
		},
		[]string{
			"The staging database listens on port 5434 and keeps 3 backups.",
			"The staging database listens on port 5433 and keeps 5 backups.",
			"The production database listens on port 5433.",
			"The staging database does not listen on port 5433.",
			"The staging database listens on port 3 and keeps 5433 backups.",
		},
	},
	{
		"I prefer table-driven tests over one function per case.",
		[]string{
			"You prefer table-driven tests over one function per case.",
			"As you prefer, tests are table-driven.",
			"Your preference: *table-driven tests* over one function per case.",
			"Noted: table-driven tests are preferred over one function for each case.",
			"Table-driven tests rather than one function per case, as you said.",
			"Rather than one function per case, you prefer table-driven tests.",
		},
		[]string{
			"I prefer one function per case over table-driven tests.",
			"I prefer table-driven benchmarks over one function per case.",
			"I don't want table-driven tests any more.",
			"I never want table-driven tests.",
			"I prefer property tests over one function per case.",
		},
	},
	{
		"Remind me to rotate the signing key by Friday (said 2026-11-18).",
		[]string{
			"Reminder: rotate the signing key by Friday (said 2026-11-19).",
			"I'll remind you to rotate the signing key by Friday (said 2026-11-18).",
			"The signing key must be rotated by Friday (said 2026-11-20).",
			"You still need to rotate the signing keys by Friday (said 2026-11-20).",
			"By Friday (said 2026-11-18), the **signing key** needs rotating.",
			"Don't forget to rotate the signing key.",
		},
		[]string{
			"Remind me to rotate the signing key by Monday (said 2026-11-18).",
			"Remind me to rotate the signing key by Friday (said 2026-11-25).",
			"Remind me to rotate the deploy key by Friday (said 2026-11-18).",
			"Do not rotate the signing key by Friday (said 2026-11-19).",
			"Remind me to revoke the signing key by Friday (said 2026-11-18).",
		},
	},
}

func TestRepeatsRecognizesOtherWords(t *testing.T) {
	t.Parallel()
	for _, k := range knownStatements {
		for _, s := range append(k.repeated, k.text) {
			if !Repeats(s, "The title\n"+k.text+"\nAnother line.") {
				t.Errorf("%q does not repeat %q: %v, %v", s, k.text, meaningOf(s), meaningOf(k.text))
			}
		}
	}
}

func TestRepeatsDistinguishesChanges(t *testing.T) {
	t.Parallel()
	for _, k := range knownStatements {
		for _, s := range k.changed {
			if Repeats(s, k.text) {
				t.Errorf("%q repeats %q: %v, %v", s, k.text, meaningOf(s), meaningOf(k.text))
			}
		}
	}
}

// TestRepeatsDistinguishesDirections tests pairs of which neither repeats the other.
func TestRepeatsDistinguishesDirections(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Staging does not run on basalt.", "Staging runs on basalt."},
		{"We use Postgres instead of SQLite.", "We use SQLite instead of Postgres."},
		{"Use tabs, not spaces.", "Use spaces, not tabs."},
		{"We switch from npm to pnpm.", "We switch from pnpm to npm."},
		{"We replace basalt with granite.", "We replace granite with basalt."},
		{"Run the linter before the tests.", "Run the tests before the linter."},
		{"Never push to main.", "Always push to main."},
		{"Don't deploy on Fridays.", "Deploy on Fridays."},
		{"Version 1.2 of the parser is required.", "Version 2.1 of the parser is required."},
		{"Retries are 5 and the timeout is 30.", "Retries are 30 and the timeout is 5."},
		{"We avoid mocks in the storage tests.", "We use mocks in the storage tests."},
		{"We decided to use Postgres.", "The staging Postgres listens on port 5433."},
		{"Keep feature flags without owners.", "Keep feature flags with owners."},
	} {
		if Repeats(pair[0], pair[1]) || Repeats(pair[1], pair[0]) {
			t.Errorf("%q and %q are the same: %v, %v", pair[0], pair[1], meaningOf(pair[0]), meaningOf(pair[1]))
		}
	}
}

func TestRepeatsNeedsWords(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "We decided.", "Let's do that.", "   ", "…"} {
		if Repeats(s, "We decided: staging runs on basalt.") || Repeats("Staging runs on basalt.", s) {
			t.Errorf("%q repeats a statement", s)
		}
	}
}

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
