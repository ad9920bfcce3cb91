package extract_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/testenv"
)

func fromAnswer(text string) []extract.Statement {
	return extract.FromResponse(extract.Turn{Prompt: "How far are you?", Response: text, SaidOn: friday})
}

func TestFromResponseExtractsMarkedStatements(t *testing.T) {
	t.Parallel()
	const decision, preference, fact = loci.TypeDecision, loci.TypePreference, loci.TypeFact
	for _, c := range []struct {
		answer, text string
		kind         loci.MemoryType
	}{
		{"Decision: the ferry schedule is kept in UTC.", "the ferry schedule is kept in UTC.", decision},
		{"**Decision:** we keep pnpm. It was faster.", "we keep pnpm.", decision},
		{"- **Decided**: orders go to the `harbor` queue", "orders go to the `harbor` queue", decision},
		{"1. **Decision** — orders go to the harbor queue", "orders go to the harbor queue", decision},
		{"* __Decision__ orders go to the harbor queue", "orders go to the harbor queue", decision},
		{"**Decision: orders go to the harbor queue.** The old one is empty.",
			"orders go to the harbor queue.", decision},
		{"*Decision:* orders go to the harbor queue", "orders go to the harbor queue", decision},
		{"✅ Decision: orders go to the harbor queue", "orders go to the harbor queue", decision},
		{"## Decision\n\nOrders go to the harbor queue. It is new.", "Orders go to the harbor queue.", decision},
		{"### 🔍 Root cause\n- The pool has one connection.\n- Nobody closed it.", "The pool has one connection.", fact},
		{"**Root cause**\nThe pool has one connection.", "The pool has one connection.", fact},
		{"Root cause:\n```\npanic: decision: nil\n```\nThe pool has one connection.",
			"The pool has one connection.", fact},
		{"I read the log. Root cause: the pool has one connection. I added two.", "the pool has one connection.", fact},
		{"Decision: src/*.go files are formatted by Friday.",
			"src/*.go files are formatted by Friday (said 2026-11-20).",
			decision},
		{"Remember: the pier camera has no battery.", "the pier camera has no battery.", fact},
		{"**Remember:** always answer in short sentences.", "always answer in short sentences.", preference},
		{"From now on every crane has two operators. The third one left.", "From now on every crane has two operators.",
			decision},
		{"**From now on** all cranes are painted red.", "From now on all cranes are painted red.", decision},
		{"**From now on:** all cranes are painted red.", "all cranes are painted red.", decision},
		{"From now on: all cranes are painted red.", "all cranes are painted red.", decision},

		{"Entscheidung: Die Kräne werden rot gestrichen.", "Die Kräne werden rot gestrichen.", decision},
		{"- **Ursache**: Der Pool hat eine Verbindung.", "Der Pool hat eine Verbindung.", fact},
		{"Ab jetzt: Jeder Kran hat zwei Führer.", "Jeder Kran hat zwei Führer.", decision},
		{"Ab jetzt hat jeder Kran zwei Führer.", "Ab jetzt hat jeder Kran zwei Führer.", decision},
		{"Merke: Die Prüfung ist am 3. Mai im Hafen.", "Die Prüfung ist am 3. Mai im Hafen.", fact},
		{"Décision : les grues restent rouges.", "les grues restent rouges.", decision},
		{"**Cause racine\u00a0:** le câble est trop court.", "le câble est trop court.", fact},
		{"N’oublie pas : le quai ferme à midi.", "le quai ferme à midi.", fact},
		{"À partir de maintenant, chaque grue a deux pilotes.", "À partir de maintenant, chaque grue a deux pilotes.",
			decision},
		{"**Decisión:** las grúas siguen rojas.", "las grúas siguen rojas.", decision},
		{"Causa raíz: el cable es demasiado corto.", "el cable es demasiado corto.", fact},
		{"A partir de ahora cada grúa tiene dos pilotos.", "A partir de ahora cada grúa tiene dos pilotos.", decision},
		{"## Decisão\nOs guindastes ficam vermelhos.", "Os guindastes ficam vermelhos.", decision},
		{"Lembre-se: o cais fecha ao meio-dia.", "o cais fecha ao meio-dia.", fact},
		{"Решено: краны остаются красными.", "краны остаются красными.", decision},
		{"**Первопричина:** кабель слишком короткий.", "кабель слишком короткий.", fact},
		{"С этого момента у каждого крана два оператора.", "С этого момента у каждого крана два оператора.", decision},
		{"决定：起重机保持红色。其余不变。", "起重机保持红色。", decision},
		{"**根本原因**：电缆太短了。", "电缆太短了。", fact},
		{"我看了日志。根因：电缆太短了。", "电缆太短了。", fact},
		{"从现在起，每台起重机有两名操作员。", "从现在起，每台起重机有两名操作员。", decision},
		{"決定: クレーンは赤のままにする。", "クレーンは赤のままにする。", decision},
		{"### 根本原因\nケーブルが短すぎました。", "ケーブルが短すぎました。", fact},
		{"今後はすべてのクレーンに二人が乗ります。", "今後はすべてのクレーンに二人が乗ります。", decision},
	} {
		want := []extract.Statement{{Text: c.text, Type: c.kind}}
		testenv.EqualSlices(t, fromAnswer(c.answer), want, c.answer)
	}
}

func TestFromResponseExtractsNothingElse(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"We decided to paint all cranes red.",
		"The cranes are painted red and live in the harbor database.",
		"Important: the cranes are red.",
		"**Note:** the cranes are red.",
		"Summary: the cranes are red.\nWichtig: Die Kräne sind rot.\n注意：起重机是红色的。",
		"Decision: pending until Ann answers.",
		"Decision: none was made in this turn.",
		"Root cause: none found yet, still looking.",
		"Decision needed: which cranes are painted red",
		"The decision: nobody knows it yet.",
		"Remember to restart the crane before you leave.",
		"Root cause analysis\nThe cable is too short.",
		"Decision\nThe cable is too short.",
		"Decision: shall we paint the cranes red?",
		"决定：我们要用红色吗？",
		"Decision: perhaps we paint the cranes red.",
		"Root cause: probably the cable.",
		"Ursache: vermutlich das Kabel im Keller.",
		"Cause racine : peut-être le câble du quai.",
		"Causa raíz: quizás el cable del muelle.",
		"Causa raiz: talvez o cabo do cais.",
		"Первопричина: возможно, кабель слишком короткий.",
		"根本原因：可能是电缆太短了。",
		"根本原因：ケーブルが短いのかもしれません。",
		"Decision: red.",
		"Decision: unknown",
		"## Decision\n## Plan\nPaint the cranes red.",
		"**Decision:**\n\n---\n\nThe cranes are red.",
		"**Decision:** these are the points:\n1. Paint the cranes red.",
		"Decision:",
		"> Decision: the cranes are red.",
		"```\nDecision: the cranes are red.\n```",
		"`Decision: the cranes are red.`",
		"| Decision: | the cranes are red. |",
		"\"Decision: the cranes are red.\"",
		"<thinking>Decision: the cranes are red.</thinking>",
		"Decision: " + strings.Repeat("the cranes are red and ", 20),
	} {
		if got := fromAnswer(answer); len(got) > 0 {
			t.Errorf("%q extracts %q", answer, got)
		}
	}
}

func TestFromResponseExtractsNothingFromTextMadeToOrder(t *testing.T) {
	t.Parallel()
	for prompt, isDrawn := range map[string]bool{
		"Which colour do the cranes get?":                              true,
		"Translate to English: Entscheidung: Die Kräne sind rot.":      false,
		"Write a short story about a harbor council and its decision.": false,
		"Pretend you are the harbor master and decide.":                false,
		"Übersetze ins Englische: Entscheidung: Die Kräne sind rot.":   false,
		"Write a test for the parser.":                                 true,
		"Add an endpoint, for example GET /cranes.":                    true,
		"Draft PR 12 fails, fix it.":                                   true,
		"Rewrite the loop.":                                            true,
		"What if the pool is too small?":                               true,
	} {
		got := extract.FromResponse(extract.Turn{Prompt: prompt, Response: "Decision: the cranes are painted red."})
		testenv.Equal(t, len(got) > 0, isDrawn, prompt, got)
	}
}

func TestFromResponseExtractsAtMostFiveAndNoneTwice(t *testing.T) {
	t.Parallel()
	text := "Decision: the harbor crane is red.\nDecided: the harbor crane is red.\n"
	for _, x := range []string{"ledger writes rows", "gateway limits bodies", "mailer signs mails",
		"sitemap lists routes", "scheduler wakes hourly", "importer skips drafts"} {
		text += "Decision: the " + x + ".\n"
	}
	if got := fromAnswer(text); len(got) != extract.MaxStatements || got[1].Text != "the ledger writes rows." {
		t.Errorf("%q", got)
	}
}
