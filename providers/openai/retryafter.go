package openai

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that is believed.
const maxRetryAfter = 24 * time.Hour

// retryAfter is how long an upstream asks to wait, 0 if it does not say. The more
// exact header comes first, as in OpenAI's SDKs.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if d, ok := wait(h.Get(name), time.Millisecond); ok {
			return d
		}
	}
	value := h.Get("Retry-After")
	if d, ok := wait(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// wait reads a number of units between 0 and maxRetryAfter.
func wait(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return time.Duration(min(max(n*float64(unit), 0), float64(maxRetryAfter))), true
}
