package usage

import (
	"bytes"
	"math"
	"slices"
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
	return slices.ContainsFunc(list, r.said)
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

// section is an object of a usage: what its members count, and the objects in it.
type section struct {
	counts map[string]field
	parts  map[string]*section
}

var (
	creation = &section{counts: map[string]field{"ephemeral_5m_input_tokens": shortWrites, "ephemeral_1h_input_tokens": longWrites}}
	prompt   = &section{counts: map[string]field{
		"cached_tokens": detailCached, "cache_write_tokens": cacheWrites, "cache_creation_tokens": cacheCreations,
		"cache_creation_input_tokens": detailCreation,
	}, parts: map[string]*section{"cache_creation": creation}}
	answer = &section{counts: map[string]field{"reasoning_tokens": reasoningTokens, "thinking_tokens": reasoningTokens}}
	whole  = &section{counts: map[string]field{
		"prompt_tokens": promptTokens, "completion_tokens": completionTokens, "total_tokens": totalTokens,
		"input_tokens": inputTokens, "output_tokens": outputTokens, "cached_tokens": topCached,
		"prompt_cache_hit_tokens": hitTokens, "prompt_cache_miss_tokens": missTokens,
		"cache_read_input_tokens": cacheReads, "cache_creation_input_tokens": topCreation,
	}, parts: map[string]*section{
		"prompt_tokens_details": prompt, "input_tokens_details": prompt, "cache_creation": creation,
		"completion_tokens_details": answer, "output_tokens_details": answer,
	}}
)

// read reads an object.
func (r *reading) read(b []byte, s *section) {
	wire.Members(b, 0, func(key []byte, v wire.Span) bool {
		if f, ok := s.counts[string(key)]; ok {
			r.set(f, v.Of(b))
		} else if part := s.parts[string(key)]; part != nil {
			r.details = r.details || string(key) == "input_tokens_details" && b[v.Start] == '{'
			r.read(v.Of(b), part)
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

// Count reads one count, however it is written; ok is false for what is none, and for what is negative or more
// than any answer has.
func Count(b []byte) (n int, ok bool) {
	if n, ok := digits(b); ok {
		return n, true
	}
	n, fault := oddCount(b)
	return n, fault == 0 && len(b) > 0 && string(b) != "null"
}
