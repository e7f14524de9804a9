package usage

import (
	"bytes"
	"math"
	"strconv"

	"github.com/callgate/callgate/gateway/wire"
)

// field is a count that some provider's usage has.
type field int

const (
	promptTokens field = iota
	completionTokens
	totalTokens
	reasoningTokens
	inputTokens  // Anthropic, and OpenAI's Responses
	outputTokens // the same

	detailCached // OpenAI, Azure, DashScope, Moonshot, xAI, and our translation of Anthropic
	topCached    // Moonshot's old models
	hitTokens    // DeepSeek
	missTokens   // DeepSeek
	cacheReads   // Anthropic

	cacheWrites    // OpenAI
	cacheCreations // our translation of Anthropic
	detailCreation // DashScope
	topCreation    // Anthropic, DashScope
	shortWrites    // Anthropic, DashScope
	longWrites     // Anthropic

	fields
)

// The fields that count the same.
var (
	readFields  = [...]field{detailCached, topCached, hitTokens, cacheReads}
	writeTotals = [...]field{cacheWrites, cacheCreations, detailCreation, topCreation}
	writeFields = [...]field{cacheWrites, cacheCreations, detailCreation, topCreation, shortWrites, longWrites}
)

// reading is what the fields of a usage say.
type reading struct {
	n       [fields]int
	known   uint32 // a bit for each field that is there
	details bool   // input_tokens_details are there
	faults  Fault
}

func (r *reading) said(f field) bool { return r.known&(1<<f) != 0 }

func (r *reading) any(list []field) bool {
	for _, f := range list {
		if r.said(f) {
			return true
		}
	}
	return false
}

// least is the smallest count of those that are there, 0 if none is.
func (r *reading) least(list []field) int {
	return r.agree(list, func(a, b int) int { return min(a, b) })
}

// most is the largest.
func (r *reading) most(list []field) int {
	return r.agree(list, func(a, b int) int { return max(a, b) })
}

func (r *reading) agree(list []field, better func(a, b int) int) int {
	n, first := 0, true
	for _, f := range list {
		switch {
		case !r.said(f):
		case first:
			n, first = r.n[f], false
		case r.n[f] != n:
			r.faults |= Contradiction
			n = better(n, r.n[f])
		}
	}
	return n
}

// read reads the whole object.
func (r *reading) read(b []byte) {
	wire.Members(b, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "prompt_tokens":
			r.set(promptTokens, v.Of(b))
		case "completion_tokens":
			r.set(completionTokens, v.Of(b))
		case "total_tokens":
			r.set(totalTokens, v.Of(b))
		case "input_tokens":
			r.set(inputTokens, v.Of(b))
		case "output_tokens":
			r.set(outputTokens, v.Of(b))
		case "cached_tokens":
			r.set(topCached, v.Of(b))
		case "prompt_cache_hit_tokens":
			r.set(hitTokens, v.Of(b))
		case "prompt_cache_miss_tokens":
			r.set(missTokens, v.Of(b))
		case "cache_read_input_tokens":
			r.set(cacheReads, v.Of(b))
		case "cache_creation_input_tokens":
			r.set(topCreation, v.Of(b))
		default:
			r.part(key, v.Of(b))
		}
		return true
	})
}

// part reads one of the objects within the usage.
func (r *reading) part(key, b []byte) {
	switch string(key) {
	case "prompt_tokens_details":
		r.detail(b)
	case "input_tokens_details":
		r.details = b[0] == '{'
		r.detail(b)
	case "completion_tokens_details", "output_tokens_details":
		wire.Members(b, 0, func(key []byte, v wire.Span) bool {
			if string(key) == "reasoning_tokens" {
				r.set(reasoningTokens, v.Of(b))
			}
			return true
		})
	case "cache_creation":
		r.creation(b)
	}
}

// detail reads the details of the prompt.
func (r *reading) detail(b []byte) {
	wire.Members(b, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "cached_tokens":
			r.set(detailCached, v.Of(b))
		case "cache_write_tokens":
			r.set(cacheWrites, v.Of(b))
		case "cache_creation_tokens":
			r.set(cacheCreations, v.Of(b))
		case "cache_creation_input_tokens":
			r.set(detailCreation, v.Of(b))
		case "cache_creation":
			r.creation(v.Of(b))
		}
		return true
	})
}

// creation reads for how long tokens were written to the cache.
func (r *reading) creation(b []byte) {
	wire.Members(b, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "ephemeral_5m_input_tokens":
			r.set(shortWrites, v.Of(b))
		case "ephemeral_1h_input_tokens":
			r.set(longWrites, v.Of(b))
		}
		return true
	})
}

// set takes a count. null is not a fault: many servers write it for what they do not
// count.
func (r *reading) set(f field, b []byte) {
	n, ok := digits(b)
	if !ok {
		var fault Fault
		n, fault = oddCount(b)
		r.faults |= fault
		if fault == NotACount || string(b) == "null" {
			return
		}
	}
	if n > MaxTokens {
		n, r.faults = MaxTokens, r.faults|TooLarge
	}
	r.n[f], r.known = n, r.known|1<<f
}

// digits reads a count as all providers write them.
func digits(b []byte) (n int, ok bool) {
	const most = 9 // digits, that fit into 32 bits
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if len(b) <= most {
			n = 10*n + int(c-'0')
		}
	}
	return n, 0 < len(b) && len(b) <= most
}

// oddCount reads what is written in another way, such as 12.0 and 1e3.
func oddCount(b []byte) (int, Fault) {
	if string(b) == "null" {
		return 0, 0
	}
	if len(bytes.Trim(b, "0123456789.eE+-")) > 0 {
		return 0, NotACount
	}
	x, err := strconv.ParseFloat(string(b), 64)
	switch {
	case err != nil && !math.IsInf(x, 0), x != math.Trunc(x):
		return 0, NotACount
	case x < 0:
		return 0, Negative
	case x > MaxTokens:
		return MaxTokens, TooLarge
	}
	return int(x), 0
}
