package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
)

// An extractionCollector reads the metrics of the language model at each scrape.
type extractionCollector struct {
	store   *store.Store
	service *service.Service
	ready   *readiness
}

var (
	llmTokens   = newDesc("loci_llm_tokens_total", "Tokens that this server has used at the language model.")
	llmFailures = newDesc("loci_llm_failures_total", "Calls of the language model by this server that failed.")
	llmToday    = newDesc("loci_llm_tokens_today",
		"Tokens that all servers of the database have used or reserved on this day (UTC).")
	llmLimit = newDesc("loci_llm_tokens_daily_limit", "Tokens that they may use on a day.")
)

// Describe lists the metrics.
func (c extractionCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{llmTokens, llmFailures, llmToday, llmLimit} {
		to <- desc
	}
}

// Collect reads the metrics. While the database is down, it reads only those that need no statement.
func (c extractionCollector) Collect(to chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, n int64) {
		to <- prometheus.MustNewConstMetric(desc, kind, float64(n))
	}
	send(llmTokens, prometheus.CounterValue, c.service.ExtractionTokens())
	send(llmFailures, prometheus.CounterValue, c.service.ExtractionFailures())
	send(llmLimit, prometheus.GaugeValue, c.service.DailyTokens)
	if !c.ready.databaseUp() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	n, err := store.SystemRead(ctx, c.store, "read the tokens of the day", (*store.SystemTx).ModelUsage)
	if err == nil {
		send(llmToday, prometheus.GaugeValue, n)
	}
}
