package gateway

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/wire"
)

// execution is what was done for a request, as the member "execution" of its answer.
type execution struct {
	Calls    []string      `json:"calls"` // the tools that the answer calls
	Retried  []retriedCall `json:"calls_retried,omitempty"`
	Attempts int           `json:"attempts"`
	Latency  float64       `json:"latency_ms"`
	First    float64       `json:"first_token_ms,omitempty"`
	Rounds   *roundsOf     `json:"rounds,omitempty"`
	Guard    *guardOf      `json:"guard,omitempty"`
	Resolved []resolvedRef `json:"references,omitempty"`
}

type retriedCall struct {
	Tool   string `json:"tool,omitempty"`
	Reason string `json:"reason"`
}

type roundsOf struct {
	Used       int     `json:"used"`
	Limit      int     `json:"limit"`
	Efficiency float64 `json:"efficiency"`
	Stopped    string  `json:"stopped,omitempty"`
}

type guardOf struct {
	Ghost         bool     `json:"ghost"`
	Contradiction bool     `json:"contradiction,omitempty"`
	Score         float64  `json:"score"`
	Signals       []string `json:"signals"`
}

type resolvedRef struct {
	Tool     string  `json:"tool"`
	Argument string  `json:"argument"`
	How      string  `json:"how"`
	Ratio    float64 `json:"ratio"`
}

// execution is the member's value.
func (r *Response) execution() []byte {
	s := &r.Summary
	x := execution{Calls: s.Called, Attempts: len(s.Attempts), Latency: inMilliseconds(time.Since(r.requested)), First: inMilliseconds(s.FirstToken)}
	if x.Calls == nil {
		x.Calls = []string{}
	}
	for _, c := range s.Corrections {
		x.Retried = append(x.Retried, retriedCall{c.Tool, c.Reason})
	}
	if n := s.Rounds; n != nil {
		x.Rounds = &roundsOf{n.Rounds, n.Limit, n.Efficiency, string(n.Stop)}
	}
	if v := s.Guard; v != nil {
		x.Guard = &guardOf{v.Ghost, v.Contradiction, math.Round(v.Score*100) / 100, slices.AppendSeq([]string{}, v.For())}
	}
	for _, d := range s.References {
		x.Resolved = append(x.Resolved, resolvedRef{d.Tool, d.Argument, string(d.How), d.Ratio})
	}
	b, _ := json.Marshal(x) // numbers and strings cannot fail
	return b
}

func inMilliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// complete ends a whole answer: it is judged, and gets what the route adds to it.
func (r *Response) complete(body []byte) []byte {
	r.conclude()
	r.summarise()
	r.bill()
	if !r.of.conduct.Execution || !wire.IsObject(body) {
		return body
	}
	return r.withExecution(body)
}

// withExecution is an object with the member in place of its own.
func (r *Response) withExecution(object []byte) []byte {
	out, _ := wire.AppendOthers(append(make([]byte, 0, len(object)+256), '{'), object, "execution")
	return append(append(wire.AppendKey(out, "execution"), r.execution()...), '}')
}

// closing is what a stream says before its end marker: what the headers of a whole
// answer would say, as a comment, and in front of it what the route adds, as a chunk.
func (r *Response) closing() []byte {
	r.conclude()
	r.summarise()
	r.bill()
	var out []byte
	var k chunk
	if r.of.conduct.Execution && locate(&k, r.template, "delta") {
		data := r.withExecution(k.slim().with())
		data = bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '}) // between values, where the chunk came on several lines
		out = slices.Concat([]byte("data: "), data, []byte("\n\n"))
	}
	return append(out, r.comment()...)
}

// keepTemplate keeps the first chunk that has a choice, to write further ones by.
func (r *Response) keepTemplate(k *chunk) {
	if r.template == nil && len(k.parts) > 0 {
		r.template = bytes.Clone(k.data)
	}
}
