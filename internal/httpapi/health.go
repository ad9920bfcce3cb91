package httpapi

import "encoding/json"

// Health is the answer of GET /health.
type Health struct {
	OK       bool   `json:"ok"`
	Service  string `json:"service"` // ServiceName
	Version  string `json:"version,omitzero"`
	Contract string `json:"contract"`
}

// ServiceName distinguishes Loci from other services.
const ServiceName = "loci"

// ParseHealth parses an answer of GET /health, and reports whether a server of Loci gave it.
func ParseHealth(body []byte) (h Health, isLoci bool) {
	err := json.Unmarshal(body, &h)
	return h, err == nil && h.OK && h.Service == ServiceName
}
