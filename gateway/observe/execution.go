package observe

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
)

// execution is what was done for a request, as the member "execution" of its answer.
type execution struct {
	Calls    []string      `json:"calls"` // the tools that the answer calls
	Retried  []retriedCall `json:"calls_retried,omitempty"`
	Attempts int           `json:"attempts"`
	Latency  float64       `json:"latency_ms"`
	First    float64       `json:"first_token_ms,omitempty"`
	Rounds   *rounds       `json:"rounds,omitempty"`
	Guard    *verdict      `json:"guard,omitempty"`
	Resolved []resolved    `json:"references,omitempty"`
}

type retriedCall struct {
	Tool   string `json:"tool,omitempty"`
	Reason string `json:"reason"`
}

type rounds struct {
	Used       int     `json:"used"`
	Limit      int     `json:"limit"`
	Efficiency float64 `json:"efficiency"`
	Stopped    string  `json:"stopped,omitempty"`
}

type verdict struct {
	Ghost         bool     `json:"ghost"`
	Contradiction bool     `json:"contradiction,omitempty"`
	Score         float64  `json:"score"`
	Signals       []string `json:"signals"`
}

type resolved struct {
	Tool     string  `json:"tool"`
	Argument string  `json:"argument"`
	How      string  `json:"how"`
	Ratio    float64 `json:"ratio"`
}

// Execution is the value of the member "execution" of an answer, as JSON.
func Execution(s *gateway.Summary, streamed bool) []byte {
	x := execution{Calls: s.Called, Attempts: len(s.Attempts), Latency: milliseconds(time.Since(s.Requested))}
	if streamed {
		x.First = milliseconds(s.FirstToken)
	}
	if x.Calls == nil {
		x.Calls = []string{}
	}
	for _, c := range s.Corrections {
		x.Retried = append(x.Retried, retriedCall{c.Tool, c.Reason})
	}
	if n := s.Rounds; n != nil {
		x.Rounds = &rounds{n.Rounds, n.Limit, n.Efficiency, string(n.Stop)}
	}
	if v := s.Guard; v != nil {
		x.Guard = &verdict{v.Ghost, v.Contradiction, math.Round(v.Score*100) / 100, slices.AppendSeq([]string{}, v.For())}
	}
	for _, d := range s.References {
		x.Resolved = append(x.Resolved, resolved{d.Tool, d.Argument, string(d.How), d.Ratio})
	}
	b, _ := json.Marshal(x) // numbers and strings cannot fail
	return b
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
