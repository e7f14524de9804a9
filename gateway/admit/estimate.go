package admit

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
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
	if m.n++; m.n >= 8 && m.n%4 == 0 && (m.n < outputs || m.n%16 == 0) { // it changes less and less
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
	body  int64   // bytes of the request
	text  int64   // those that are text
	media int64   // how many pictures and the like the others are
	input int64   // tokens that the request itself has
	price tariff
}

// newEstimate makes that of a request, and says how many tokens its answers have at most, mostly. Its price is nothing
// until a target has raised it.
func newEstimate(req *gateway.Request, m *model, k kind) (e estimate, output int64) {
	ratio, output := m.guess()
	body := req.Body.Bytes()
	e = estimate{model: m, ratio: ratio, body: int64(len(body)), price: tariff{texts: k.chat || k.text}}
	e.text, e.media = textBytes(body)
	if k.free {
		return e, 0
	}
	e.input = e.inputOf(e.body)
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

// inputOf is how many tokens the request has in the form in which an upstream gets it, of so many bytes: what it has more than
// the client's is text.
func (e *estimate) inputOf(bytes int64) int64 {
	return e.tokens(max(e.text+bytes-e.body, 0)) + e.media*imageTokens
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
	switch {
	case u.Purpose == gateway.ForJudge:
	case e.input == 0 || u.Purpose == gateway.ForAnswer:
		input = e.input // of what uses no tokens it is none
	default:
		input = e.inputOf(int64(u.Sent))
	}
	if counted.Reported && (sound || counted.Input > 0) {
		input = int64(counted.Input)
	}
	counted.Reported = true
	counted.Input, counted.Output = int(input), max(counted.Output, int(output))
	return counted, true
}

// learn has the model's next estimates be like what the request has used. One with pictures says nothing of the bytes of a token.
func (e *estimate) learn(u gateway.Usage) {
	if e.media > 0 {
		e.model.learn(u, 0)
		return
	}
	e.model.learn(u, e.text)
}

// longMedia is from how many bytes on a picture, a sound or a file in base64 is not counted as text.
const longMedia = 2048

// textBytes is how many bytes of a body are text, and how many pictures and the like in base64 there are beside them: as a data
// URL, or in a member "data". It looks at a byte in 2048, since each has one of them.
func textBytes(body []byte) (text, media int64) {
	text = int64(len(body))
	for at := longMedia - 1; at < len(body); at += longMedia {
		start, end := at, at
		for start > 0 && isBase64(body[start-1]) {
			start--
		}
		for end < len(body) && isBase64(body[end]) {
			end++
		}
		if end-start >= longMedia && beginsMedia(body[:start]) {
			text, media = text-int64(end-start), media+1
		}
		at = max(at, end)
	}
	return text, media
}

// isBase64 reports whether a byte may be in base64 in JSON, where a slash may be escaped.
func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(`+/-_=\`, c) >= 0
}

// beginsMedia reports whether base64 behind this is no text.
func beginsMedia(before []byte) bool {
	if bytes.HasSuffix(before, []byte(";base64,")) {
		return true
	}
	before, quoted := bytes.CutSuffix(before, []byte(`"`))
	before, named := bytes.CutSuffix(bytes.TrimRight(before, " \t\r\n"), []byte(":"))
	return quoted && named && bytes.HasSuffix(bytes.TrimRight(before, " \t\r\n"), []byte(`"data"`))
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
