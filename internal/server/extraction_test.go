package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/service"
)

func TestLoadReadsLanguageModel(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sk-from-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, warnings, err := Load(map[string]string{"data": t.TempDir()}, []string{"LOCI_LLM_URL=http://127.0.0.1:9/v1",
		"LOCI_LLM_KEY_FILE=" + key, "LOCI_LLM_MODEL=tiny", "LOCI_LLM_DAILY_TOKENS=5000"})
	if err != nil || len(warnings) > 0 || s.LLMURL != "http://127.0.0.1:9/v1" || s.LLMKey != "sk-from-the-file" ||
		s.LLMModel != "tiny" || s.LLMDailyTokens != 5000 {
		t.Errorf("%v, %q: %q %q %d", err, warnings, s.LLMURL, s.LLMModel, s.LLMDailyTokens)
	}
	if m, err := s.extractor(); m == nil || err != nil {
		t.Error(m, err)
	}
	s, warnings, err = Load(map[string]string{"data": t.TempDir()}, []string{"LOCI_LLM_KEY=sk-tuna"})
	if err != nil || s.LLMDailyTokens != 200_000 || len(warnings) != 1 || strings.Contains(warnings[0], "tuna") {
		t.Errorf("%d, %q, %v", s.LLMDailyTokens, warnings, err)
	}
	if m, err := s.extractor(); m != nil || err != nil {
		t.Error("without an address there is a model: ", m, err)
	}
}

func TestLoadRejectsInvalidLanguageModel(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"LOCI_LLM_URL=tuna", "LOCI_LLM_URL=https://ann:tuna@example.org/v1",
		"LOCI_LLM_KEY=sk tuna", "LOCI_LLM_MODEL=two tuna", "LOCI_LLM_DAILY_TOKENS=0", "LOCI_LLM_DAILY_TOKENS=-1",
		"LOCI_LLM_DAILY_TOKENS=tuna"} {
		name, _, _ := strings.Cut(bad, "=")
		_, _, err := Load(map[string]string{"data": t.TempDir()}, []string{bad})
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || strings.Contains(err.Error(), "tuna") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestMetricsShowLanguageModel(t *testing.T) {
	t.Parallel()
	l, err := OpenLocal(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ready := &readiness{check: l.store.Ping, log: slog.New(slog.DiscardHandler)}
	m := newMetrics(l.store, ready)
	m.registry.MustRegister(extractionCollector{l.store, service.New(service.Options{Store: l.store, Clock: time.Now,
		DailyTokens: 7000}), ready})
	ready.checkOnce(t.Context())
	_, text := page(t, m.handler(), "/metrics")
	for _, line := range []string{"loci_llm_tokens_total 0", "loci_llm_failures_total 0", "loci_llm_tokens_today 0",
		"loci_llm_tokens_daily_limit 7000"} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics show no %s", line)
		}
	}
}
