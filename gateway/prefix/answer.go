package prefix

import "github.com/callgate/callgate/gateway/usage"

const (
	// leastCached is how many tokens a prompt has that providers cache at all. 1,024 is the
	// number of OpenAI and Azure for all models, and of Anthropic for most; some models of
	// Anthropic's and Google's need up to 4,096 (the providers' pages on prompt caching).
	leastCached = 1024
	// mostMisses is after how many misses in a row a target is taken for one without a
	// cache. A provider may miss now and then: OpenAI sends what comes too fast elsewhere,
	// DeepSeek wants to have seen a beginning twice, Google promises nothing.
	mostMisses = 5
)

// Answered notes that the target has answered the prompt, by the usage that came with the
// answer; expected is how many blocks it was believed to have when it was asked. It must
// only be called for an answer that succeeded. What the target's cache holds from now on
// follows from what its provider counts:
//
//   - Nothing, if the prompt is too short for any cache.
//   - All of it, if the provider does not count what it reads: most servers that one runs
//     oneself.
//   - What was read and written, if it counts both. Anthropic writes only up to the marks
//     in the prompt, and nothing without marks.
//   - All of it, if it counts only what it reads, as OpenAI did until gpt-5.5, DeepSeek,
//     Moonshot and vLLM: they write without being asked. But where much was expected and
//     nothing read, [mostMisses] times in a row, the target is believed not to cache at
//     all: nothing is expected of it until it reads something.
func (x *Index) Answered(name string, c Chain, expected int, u usage.Usage) {
	t := x.target(name)
	if t == nil || u.Reported && u.Input < leastCached {
		return
	}
	cached := len(c)
	if u.CacheReported {
		read := c.Share(u.CacheRead, u.Input)
		expected = min(max(expected, 0), len(c))
		x.Reported(name, c, expected, read)
		caches := t.watch(c.tokens(expected, u.Input), u)
		switch written := u.WriteShort + u.WriteLong; {
		case u.WriteReported:
			cached = c.Share(u.CacheRead+written, u.Input)
		case !caches:
			return
		}
	}
	x.Add(name, c[:cached])
}

// tokens is the number of tokens that some blocks of the chain are, of total in all.
func (c Chain) tokens(blocks, total int) int {
	if len(c) == 0 {
		return 0
	}
	return int(float64(blocks) / float64(len(c)) * float64(total))
}

// watch learns from an answer whether the target has a cache, where so many tokens were
// expected of it, and returns what is believed then.
func (t *target) watch(expected int, u usage.Usage) (caches bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case u.CacheRead+u.WriteShort+u.WriteLong > 0:
		t.misses = 0
	case expected >= leastCached:
		t.misses = min(t.misses+1, mostMisses)
	}
	return t.caches()
}

// caches reports whether the target is believed to have a cache. The lock is held.
func (t *target) caches() bool { return t.misses < mostMisses }
