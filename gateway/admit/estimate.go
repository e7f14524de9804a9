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

// guess is how many bytes a token has, and how many tokens an answer has at most, mostly.
func (m *model) guess() (ratio float64, output int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes, m.p95
}

// kind says what is known of a request before it is asked.
type kind struct {
	chat     bool
	text     bool   // it is answered with text
	free     bool   // it uses no tokens
	provider string // it goes to, whatever it is for
}

// estimate turns the bytes of a request and its answers into tokens, by what was learned of the model, and tokens into
// money.
type estimate struct {
	model *model
	ratio float64 // bytes of a token
	text  int64   // bytes of the request that are text
	input int64   // tokens that the request itself has
	price tariff
}

// newEstimate makes that of a request, and says how many tokens its answers have at most, mostly. Its price is nothing
// until a target has raised it.
func newEstimate(req *gateway.Request, m *model, k kind) (e estimate, output int64) {
	ratio, output := m.guess()
	n, pictures := textBytes(req.Body.Bytes())
	e = estimate{model: m, ratio: ratio, text: n, price: tariff{texts: k.chat || k.text}}
	if k.free {
		return e, 0
	}
	e.input = e.tokens(n) + pictures*imageTokens
	if !e.price.texts {
		return e, 0
	}
	if output *= 2; output == 0 {
		output = firstOutput
	}
	most, choices := requestedTokens(req)
	if c := req.From.Client; c != nil && c.MaxTokens > 0 && (most == 0 || int64(c.MaxTokens) < most) {
		most = int64(c.MaxTokens)
	}
	if most > 0 {
		output = min(output, most)
	}
	return e, output * choices
}

// tokens is what so many bytes are.
func (e *estimate) tokens(bytes int64) int64 { return int64(float64(bytes)/e.ratio + 0.999) }

// amount is so many tokens, and what they cost at most.
func (e *estimate) amount(in, out int64) limit.Amount {
	return limit.Amount{Tokens: in + out, Nano: e.price.of(in, out)}
}

// holds are what is held for answers of so many tokens before an upstream is asked.
func (e *estimate) holds(output int64) limit.Holds {
	return limit.Holds{Hold: e.amount(e.input, output), Used: e.amount(e.input, 0)}
}

// reach is how many bytes of an answer may come before what is left of a hold is mostly used.
func (e *estimate) reach(left limit.Amount) int64 {
	room := left.Tokens
	if price := e.price.most.Output; price > 0 {
		room = min(room, left.Nano*1000/price)
	}
	return int64(float64(max(room-step/4, step/4)) * e.ratio)
}

// unsound are the faults of a usage that nobody can bill by: a count in it is none, or is larger than any answer's.
const unsound = usage.NotACount | usage.Negative | usage.TooLarge

// counted is what an answer counts: what its upstream reports; and where that is not all, nothing or nonsense, what came.
func (e *estimate) counted(u *gateway.Use) (counted gateway.Usage, estimated bool) {
	counted = u.Usage
	sound := counted.Faults&unsound == 0
	if counted.Reported && u.Complete && sound {
		return counted, false
	}
	input, output := e.tokens(int64(u.Sent)), e.tokens(int64(u.Came))
	if u.Purpose != gateway.ForJudge && e.input == 0 {
		input = 0 // of what uses no tokens
	} else if u.Purpose == gateway.ForAnswer {
		input = e.input
	}
	if counted.Reported && (sound || counted.Input > 0) {
		input = int64(counted.Input)
	}
	counted.Reported = true
	counted.Input, counted.Output = int(input), max(counted.Output, int(output))
	return counted, true
}

// learn has the model's next estimates be like what the request has used.
func (e *estimate) learn(u gateway.Usage) { e.model.learn(u, e.text) }

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

// requestedTokens is how many tokens a request asks for at most, 0 if it does not say, and how many choices.
func requestedTokens(r *gateway.Request) (most, choices int64) {
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
