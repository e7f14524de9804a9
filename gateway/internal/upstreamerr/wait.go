package upstreamerr

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxWait is the longest wait that is believed.
const MaxWait = 24 * time.Hour

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

// wait reads a number of units between 0 and MaxWait.
func wait(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return time.Duration(min(max(n*float64(unit), 0), float64(MaxWait))), true
}

func believed(d time.Duration) time.Duration { return min(max(d, 0), MaxWait) }

// retryIn is how long the body of an error asks to wait, 0 if it does not say: Google's
// google.rpc.RetryInfo in error.details; a number of seconds called retry_after, which
// OpenRouter puts into availability; a provider's header that OpenRouter quotes in
// metadata; or the sentence in OpenAI's and in Azure's message.
func retryIn(outer, inner, meta object, message string, now time.Time) time.Duration {
	var list []struct {
		RetryDelay string `json:"retryDelay"`
	}
	_ = json.Unmarshal(inner["details"], &list) // what is of another form stays empty
	for _, d := range list {
		if after, err := time.ParseDuration(d.RetryDelay); err == nil {
			return believed(after)
		}
	}
	for _, o := range []object{inner, parse(inner["availability"]), meta, parse(meta["availability"]), outer} {
		if after, _ := wait(scalar(o["retry_after"]), time.Second); after > 0 {
			return after
		}
	}
	quoted, h := parse(meta["headers"]), http.Header{}
	for _, name := range slices.Sorted(maps.Keys(quoted)) {
		h.Set(name, scalar(quoted[name]))
	}
	if after := retryAfter(h, now); after > 0 {
		return after
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
