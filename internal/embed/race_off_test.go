//go:build !race

package embed

// hasRace reports whether the test runs with the race detector.
const hasRace = false
