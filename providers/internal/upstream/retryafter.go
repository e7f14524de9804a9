package upstream

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that is believed.
const maxRetryAfter = 24 * time.Hour

// retryAfter is how long an upstream's header asks to wait, 0 if it does not say.
// The more exact header comes first, as in OpenAI's SDKs.
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
		return believed(at.Sub(now))
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

func believed(d time.Duration) time.Duration { return min(max(d, 0), maxRetryAfter) }

// retryIn is how long the body of an error asks to wait, 0 if it does not say:
// Google's google.rpc.RetryInfo in error.details, or the sentence in OpenAI's and in
// Azure's message.
func retryIn(details json.RawMessage, message string) time.Duration {
	var list []struct {
		RetryDelay string `json:"retryDelay"`
	}
	_ = json.Unmarshal(details, &list) // what is of another form stays empty
	for _, d := range list {
		if after, err := time.ParseDuration(d.RetryDelay); err == nil {
			return believed(after)
		}
	}
	return spokenWait(message)
}

// spokenWait reads "try again in 1.2s", "in 6m0s", "in 20ms" (OpenAI, Groq) and
// "retry after 22 seconds" (Azure).
func spokenWait(message string) time.Duration {
	for _, phrase := range []string{"try again in ", "retry after "} {
		_, rest, found := strings.Cut(message, phrase)
		if !found {
			continue
		}
		number := strings.TrimRight(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789.hmsuµ"))], ".")
		if after, err := time.ParseDuration(number); err == nil {
			return believed(after)
		}
		word, _, _ := strings.Cut(strings.TrimLeft(rest[len(number):], " "), " ")
		if after, ok := wait(number, unit(word)); ok {
			return after
		}
	}
	return 0
}

// unit is the unit of time that a word names, 0 if it names none.
func unit(word string) time.Duration {
	switch strings.TrimRight(word, "s.,") {
	case "millisecond":
		return time.Millisecond
	case "second":
		return time.Second
	case "minute":
		return time.Minute
	case "hour":
		return time.Hour
	}
	return 0
}
