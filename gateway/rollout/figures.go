package rollout

import (
	"math"
	"time"
)

// Result is how a request of an arm ended.
type Result int

// The results. Those from Canceled on are in no figure but their own count.
const (
	Plain    Result = iota // nothing was called, and nothing was wrong
	Clean                  // calls that were right the first time
	Repaired               // calls, or an answer that was to be JSON, that were repaired without asking again
	Reasked                // right after the model was told what was wrong
	Failed                 // an error that is no fault of the client's, a call that stayed broken, or a claim without a call
	Canceled               // the client left
	Refused                // the client's own mistake, or a limit of the gateway: no model was judged
	Mixed                  // another arm's target answered this request, or an earlier one of the conversation
	Forced                 // the client chose the arm
	Replayed               // the answer is a stored one
	results
)

// String is the result's name in metrics and in JSON.
func (r Result) String() string {
	return [...]string{"plain", "clean", "repaired", "reasked", "failed", "canceled", "refused", "mixed", "forced", "replayed"}[r]
}

// Counts reports whether requests that ended so are compared.
func (r Result) Counts() bool { return r < Canceled }

// Turn is what became of one request.
type Turn struct {
	Result Result
	// Ghost says that the model claimed an action and called nothing, and Loop that the conversation
	// went in circles; also where that was put right.
	Ghost, Loop bool
	// ToolErrors is how many calls failed that the gateway made itself.
	ToolErrors int
	// FirstToken is how long the first useful byte took; 0 if none came.
	FirstToken time.Duration
	// Nano is what it cost in 10⁻⁹ US dollars, if Priced.
	Nano   int64
	Priced bool
}

// Figures are the counts of an arm. Requests is how many are compared: the sum of the five results
// before Canceled.
type Figures struct {
	Requests   int `json:"requests"`
	Plain      int `json:"plain"`
	Clean      int `json:"clean"`
	Repaired   int `json:"repaired"`
	Reasked    int `json:"reasked"`
	Failed     int `json:"failed"`
	Ghosts     int `json:"ghosts"`
	Loops      int `json:"loops"`
	ToolErrors int `json:"tool_errors"`
	// LeftOut are those that are not compared, by their result.
	LeftOut map[string]int `json:"left_out"`
	// FirstToken are the middle and the tenth part that waited longest, in seconds, to within a tenth.
	FirstToken Times `json:"first_token"`
	// CostUSD is that of the priced requests, which Priced counts.
	CostUSD float64 `json:"cost_usd"`
	Priced  int     `json:"priced"`
}

// Times are quantiles in seconds; 0 if nothing was measured.
type Times struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
}

// tally counts the turns of an arm.
type tally struct {
	results    [results]int
	ghosts     int
	loops      int
	toolErrors int
	first      spread
	nano       int64
	priced     int
}

func (c *tally) add(t Turn) {
	c.results[t.Result]++
	if !t.Result.Counts() {
		return
	}
	if t.Ghost {
		c.ghosts++
	}
	if t.Loop {
		c.loops++
	}
	c.toolErrors += max(t.ToolErrors, 0)
	if t.FirstToken > 0 {
		c.first.add(t.FirstToken)
	}
	if t.Priced && t.Nano >= 0 && c.nano <= math.MaxInt64-t.Nano {
		c.nano, c.priced = c.nano+t.Nano, c.priced+1
	}
}

// requests is how many are compared.
func (c *tally) requests() (n int) {
	for r := Plain; r.Counts(); r++ {
		n += c.results[r]
	}
	return n
}

// failure is the share of requests that failed.
func (c *tally) failure() Interval { return intervalOf(c.results[Failed], c.requests()) }

func (c *tally) figures() Figures {
	f := Figures{Requests: c.requests(), Plain: c.results[Plain], Clean: c.results[Clean], Repaired: c.results[Repaired], Reasked: c.results[Reasked],
		Failed: c.results[Failed], Ghosts: c.ghosts, Loops: c.loops, ToolErrors: c.toolErrors, LeftOut: map[string]int{},
		FirstToken: Times{P50: c.first.quantile(0.5), P90: c.first.quantile(0.9)}, CostUSD: float64(c.nano) / 1e9, Priced: c.priced}
	for r := Canceled; r < results; r++ {
		if n := c.results[r]; n > 0 {
			f.LeftOut[r.String()] = n
		}
	}
	return f
}

// spread counts times by their order of magnitude: each step is a tenth longer than the one before,
// from a millisecond to ten minutes.
type spread [steps]int

const (
	steps    = 142
	stepSize = 1.1
	least    = time.Millisecond
)

func (s *spread) add(d time.Duration) {
	i := 0
	if d > least {
		i = int(math.Ceil(math.Log(float64(d)/float64(least)) / math.Log(stepSize)))
	}
	s[min(i, steps-1)]++
}

// quantile is the upper end of the step in which it is, in seconds.
func (s *spread) quantile(q float64) float64 {
	all := 0
	for _, n := range s {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(all)))
	for i, n := range s {
		if rank -= n; rank <= 0 {
			return least.Seconds() * math.Pow(stepSize, float64(i))
		}
	}
	return 0
}
