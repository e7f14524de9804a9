package admit

import (
	"bytes"
	"slices"
	"strconv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// Estimates begin with these.
const (
	firstRatio  = 3.6  // bytes a token
	firstOutput = 4096 // tokens, where the request says nothing
	imageTokens = 1000 // of a picture in base64
	learning    = 0.1  // how much a new request changes the ratio
	outputs     = 64   // the last answers whose sizes are kept
	maxModels   = 1024
	// step is how many tokens a hold grows at least while an answer comes.
	step = 1024
)

// models is what was learned of models, by the names that clients use. It is bounded.
type models struct{ cache *lru.Cache[string, *model] }

func newModels() *models {
	cache, _ := lru.New[string, *model](maxModels) // it fails for sizes below 1 alone
	return &models{cache}
}

func (m *models) of(name string) *model {
	if found, ok := m.cache.Get(name); ok {
		return found
	}
	made := &model{bytes: firstRatio}
	if before, ok, _ := m.cache.PeekOrAdd(name, made); ok {
		return before
	}
	return made
}

// model is what was learned of one.
type model struct {
	mu    sync.Mutex
	bytes float64 // of a token
	last  [outputs]int32
	n     int // answers so far
	p95   int64
}

// learn takes what a request has used, of which so many bytes were sent.
func (m *model) learn(u gateway.Usage, sent int64) {
	if !u.Reported {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if u.Input > 15 && sent > 0 { // of the shortest prompts most is template
		seen := min(max(float64(sent)/float64(u.Input), 0.5), 20)
		m.bytes += (seen - m.bytes) * learning
	}
	m.last[m.n%outputs] = int32(min(u.Output, 1<<24))
	if m.n++; m.n >= 8 && m.n%4 == 0 {
		copied := m.last
		sorted := copied[:min(m.n, outputs)]
		slices.Sort(sorted)
		m.p95 = int64(sorted[len(sorted)*95/100])
	}
}

// tokens is what so many bytes are, and output how many tokens an answer has at most, mostly.
func (m *model) guess() (ratio float64, output int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes, m.p95
}

func tokens(n int64, ratio float64) int64 { return int64(float64(n)/ratio + 0.999) }

// estimate says what is known of a request before it is asked.
type estimate struct {
	chat     bool
	text     bool   // it is answered with text
	free     bool   // it uses no tokens
	provider string // it goes to, whatever it is for
}

// estimate makes the hold of a request.
func (a *account) estimate(e estimate) {
	a.ratio, a.output = a.model.guess()
	a.texts = e.chat || e.text
	n, pictures := textBytes(a.req.Body.Bytes())
	if a.text = n; e.free {
		return
	}
	a.input = tokens(n, a.ratio) + pictures*imageTokens
	out := int64(0)
	if e.chat || e.text {
		out = a.output * 2
		if out == 0 {
			out = firstOutput
		}
		most, choices := asked(a.req)
		if c := a.req.From.Client; c != nil && c.MaxTokens > 0 && (most == 0 || int64(c.MaxTokens) < most) {
			most = int64(c.MaxTokens)
		}
		if most > 0 {
			out = min(out, most)
		}
		out *= choices
	}
	a.hold = limit.Holds{Hold: limit.Amount{Tokens: a.input + out}, Used: limit.Amount{Tokens: a.input}}
	if a.gate.o.Targets != nil {
		for _, t := range a.gate.o.Targets(a.req, e.provider) {
			a.costs(t.Provider, t.Model)
		}
	}
	a.hold.Hold.Nano, a.hold.Used.Nano = a.worth(a.input, out), a.worth(a.input, 0)
}

// costs raises the estimate of the price to that of a target.
func (a *account) costs(provider, model string) {
	target := Target{provider, model}
	if a.rated == target { // mostly that which was estimated is asked
		return
	}
	a.rated = target
	const n = 1000
	in, known, _ := a.gate.price(provider, model, gateway.Usage{Reported: true, Input: n})
	out, priced, _ := a.gate.price(provider, model, gateway.Usage{Reported: true, Output: n})
	if (!known || !priced && a.texts) && a.unpriced == "" && model != "" {
		a.unpriced = provider + "/" + model
	}
	a.rate.in, a.rate.out = max(a.rate.in, in), max(a.rate.out, out)
}

// worth is what tokens cost, at the highest price that the request may have.
func (a *account) worth(in, out int64) int64 {
	return (min(in, usage.MaxTokens)*a.rate.in + min(out, usage.MaxTokens)*a.rate.out + 999) / 1000
}

// textBytes is how many bytes of a body are text, and how many pictures there are beside them.
func textBytes(body []byte) (n, pictures int64) {
	mark := []byte(";base64,")
	n = int64(len(body))
	for rest := body; ; {
		i := bytes.Index(rest, mark)
		if i < 0 {
			return n, pictures
		}
		rest = rest[i+len(mark):]
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return n, pictures
		}
		n, pictures, rest = n-int64(end), pictures+1, rest[end:]
	}
}

// asked is how many tokens a request asks for at most, 0 if it does not say, and how many choices.
func asked(r *gateway.Request) (most, choices int64) {
	body, p := r.Body.Bytes(), r.Body.Places()
	number := func(at wire.Span) int64 {
		if at.Empty() {
			return 0
		}
		n, err := strconv.ParseInt(string(at.Of(body)), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	for _, at := range []wire.Span{p.MaxTokens, p.MaxCompletionTokens} {
		if n := number(at); n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	return most, min(max(number(p.N), 1), 128)
}
