package extract

import (
	"strings"
	"time"
)

var relativeDays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "tomorrow",
	"today", "tonight", "yesterday", "next week", "this week", "next month", "this month", "next year"}

// markDay adds the day on which a relative date was said behind the first one: "by Friday (said 2026-11-20)".
func markDay(text string, day time.Time) string {
	lower, first := lowerASCII(text), len(text)+1
	for _, name := range relativeDays {
		n := strings.Index(lower, name)
		end := n + len(name)
		if n < 0 || end > first || n > 0 && isLetter(lower[n-1]) || end < len(lower) && isLetter(lower[end]) ||
			strings.HasSuffix(lower[:n], "every ") || strings.HasSuffix(lower[:n], "each ") {
			continue
		}
		first = end
	}
	if day.IsZero() || first > len(text) {
		return text
	}
	return text[:first] + " (said " + day.Format(time.DateOnly) + ")" + text[first:]
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
