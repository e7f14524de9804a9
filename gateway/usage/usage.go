package usage

// Usage is what a request has cost in tokens, by one set of rules for all providers. No
// count is negative or above [MaxTokens], and the parts of Input together are never more
// than it. The zero value is that of an answer without a usage.
type Usage struct {
	// Reported says that the provider counted the tokens at all.
	Reported bool
	// CacheReported says that it counted those from its cache, were it none. Servers
	// that one runs oneself often do not, and then a CacheRead of 0 tells nothing.
	CacheReported bool
	// WriteReported says that it counted those that were written to its cache, were it
	// none: Anthropic, and OpenAI from gpt-5.6 on.
	WriteReported bool
	// Input are all tokens of the prompt, from the cache or not.
	Input int
	// CacheRead are those of Input that were read from the cache.
	CacheRead int
	// WriteShort are those of Input that were written to the cache for its usual time: 5
	// minutes at Anthropic and DashScope, 30 at OpenAI. 0 where nobody charges for writes.
	WriteShort int
	// WriteLong are those of Input that were written to the cache for an hour, which
	// Anthropic charges more for.
	WriteLong int
	// Output are all tokens of the answer, with those of its reasoning.
	Output int
	// Reasoning are those of Output that are reasoning, where the provider counts them.
	Reasoning int
	// Faults is what was wrong with the provider's numbers; 0 if nothing was.
	Faults Fault
}

// Then is what an answer has used whose upstream has said u, and later said more: mostly a later one is all that there
// is, but some streams tell the prompt at first and the answer at the end, or end with one that counts nothing.
func (u Usage) Then(later Usage) Usage {
	if !later.Reported || !u.Reported {
		if later.Reported {
			return later
		}
		return u
	}
	if later.Input == 0 {
		later.Input, later.CacheRead, later.WriteShort, later.WriteLong = u.Input, u.CacheRead, u.WriteShort, u.WriteLong
		later.CacheReported, later.WriteReported = u.CacheReported, u.WriteReported
		later.Faults |= u.Faults
	}
	if later.Output == 0 {
		later.Output, later.Reasoning = u.Output, u.Reasoning
		later.Faults |= u.Faults
	}
	return later
}

// Fresh are the tokens of Input that had nothing to do with the cache.
func (u Usage) Fresh() int { return u.Input - u.CacheRead - u.WriteShort - u.WriteLong }

// MaxTokens is the largest count that is believed. The longest prompts that any model
// takes have some ten million tokens.
const MaxTokens = 1 << 24

// Fault is a set of things that are wrong with a usage. None of them is the client's
// concern, but totals that rest on them are not to be trusted.
type Fault uint8

// The faults.
const (
	// NotACount is a value that is no whole number. It is taken as not said.
	NotACount Fault = 1 << iota
	// Negative is a count below 0. It is taken as 0.
	Negative
	// TooLarge is a count above MaxTokens. It is taken as MaxTokens.
	TooLarge
	// OverInput says that more tokens went from and to the cache than the prompt has. What
	// is too much is cut off, first of the writes.
	OverInput
	// Contradiction says that two fields for the same count differ. The one that saves
	// less money counts.
	Contradiction
)

// Read reads a usage object, as it stands in an OpenAI-shaped answer or its last chunk,
// in Anthropic's own or in one of OpenAI's Responses. It is to be called once for an
// answer, and allocates nothing unless a number is oddly written. What is no object, or
// one that counts no tokens, gives the zero value. Time is linear in the text.
func Read(object []byte) Usage {
	var r reading
	r.read(object, whole)
	return r.usage()
}

// usage settles what the fields together say.
func (r *reading) usage() Usage {
	input, exclusive := r.input()
	u := Usage{
		Reported:      r.said(promptTokens) || r.said(inputTokens) || r.said(completionTokens) || r.said(outputTokens) || r.said(hitTokens),
		CacheReported: r.any(readFields[:]),
		WriteReported: r.any(writeFields[:]),
		CacheRead:     r.least(readFields[:]),
		Output:        r.output(),
	}
	if !u.Reported {
		return Usage{}
	}
	u.Reasoning = min(r.n[reasoningTokens], u.Output)
	u.WriteShort, u.WriteLong = r.writes()
	if exclusive {
		input += u.CacheRead + u.WriteShort + u.WriteLong
		if input > MaxTokens {
			input, r.faults = MaxTokens, r.faults|TooLarge
		}
	}
	u.Input = input
	if u.Fresh() < 0 {
		r.faults |= OverInput
		u.CacheRead = min(u.CacheRead, u.Input)
		u.WriteLong = min(u.WriteLong, u.Input-u.CacheRead)
		u.WriteShort = min(u.WriteShort, u.Input-u.CacheRead-u.WriteLong)
	}
	u.Faults = r.faults
	return u
}

// input is the provider's count of the prompt. Only Anthropic has fields of its cache
// beside input_tokens, and exclusive says that these do not count them. The Responses
// of OpenAI's have input_tokens with details, which are a part of them.
func (r *reading) input() (n int, exclusive bool) {
	hits := r.n[hitTokens] + r.n[missTokens]
	switch {
	case r.said(promptTokens):
		if r.said(hitTokens) && r.said(missTokens) && hits != r.n[promptTokens] {
			r.faults |= Contradiction
		}
		return r.n[promptTokens], false
	case r.said(inputTokens):
		return r.n[inputTokens], !r.details && (r.any(readFields[:]) || r.any(writeFields[:]))
	case hits > MaxTokens:
		r.faults |= TooLarge
		return MaxTokens, false
	}
	return hits, false
}

// writes are the tokens written to the cache. One field counts them all, and Anthropic
// and DashScope also say for how long.
func (r *reading) writes() (short, long int) {
	long = r.n[longWrites]
	split := r.n[shortWrites] + long
	if !r.any(writeTotals[:]) {
		return r.n[shortWrites], long
	}
	total := r.most(writeTotals[:])
	if (r.said(shortWrites) || r.said(longWrites)) && split != total {
		r.faults |= Contradiction
		total = max(total, split)
	}
	return total - long, long
}

// output is the count of the answer. Where the total shows that the tokens of reasoning
// are not among completion_tokens, as at xAI, they are added; so they are where they are
// more, as with Gemini at Vercel, which charges for both and has the total without them.
func (r *reading) output() int {
	if !r.said(completionTokens) {
		return r.n[outputTokens]
	}
	output, reasoning := r.n[completionTokens], r.n[reasoningTokens]
	if r.said(totalTokens) && r.n[totalTokens] == r.n[promptTokens]+output+reasoning {
		return output + reasoning // no more than the total, which is bounded
	}
	if reasoning > output && output+reasoning <= MaxTokens {
		if r.said(totalTokens) {
			r.faults |= Contradiction
		}
		return output + reasoning
	}
	return output
}
