package run

import (
	"cmp"
	"time"

	"github.com/callgate/callgate/gateway"
)

// Policy says which tools the requests of a route have without asking for them, and bounds the
// rounds of the model and its tools. A zero number means the default.
type Policy struct {
	// Attach are the servers whose tools are offered to every request.
	Attach []string
	// Rounds is how many rounds may call tools, 15, and from Warn of them on, 0.8, the model is
	// told how many are left.
	Rounds int
	Warn   float64
	// Idle is how many rounds in a row may bring nothing new, 3.
	Idle int
	// Parallel is how many calls of a round run at once, 8.
	Parallel int
	// Attempts is how often a call of an idempotent tool is made, 2. Others are made once.
	Attempts int
	Time     Times
	Size     Sizes
	// Taint is what is done about a call that writes, once a result may hold a stranger's text.
	Taint Taint
}

// Times bound how long tools may take.
type Times struct {
	// Tool is for one attempt of a call whose server says nothing else, 10 s.
	Tool time.Duration
	// Run is for the request, from its beginning on, 120 s. The first answer of the model is not
	// bounded by it.
	Run time.Duration
	// Answer is how much of Run is kept for the last answer, 20 s.
	Answer time.Duration
	// Approval is how long a client may take to agree to a call, 10 min.
	Approval time.Duration
}

// Sizes bound what tools may tell the model, in bytes.
type Sizes struct {
	Result int // one result, 64 KiB
	Run    int // all results of a request, 256 KiB
}

// Taint says what is done about a call that writes behind a result that may hold a stranger's
// text.
type Taint int

// What is done.
const (
	TaintApprove Taint = iota // the client must agree
	TaintReport               // it is said
	TaintOff                  // nothing
)

// withDefaults has the defaults in the place of what is 0.
func (p Policy) withDefaults() Policy {
	p.Rounds, p.Warn, p.Idle = cmp.Or(p.Rounds, 15), cmp.Or(p.Warn, 0.8), cmp.Or(p.Idle, 3)
	p.Parallel, p.Attempts = cmp.Or(p.Parallel, 8), cmp.Or(p.Attempts, 2)
	p.Time.Tool, p.Time.Run = cmp.Or(p.Time.Tool, 10*time.Second), cmp.Or(p.Time.Run, 120*time.Second)
	p.Time.Answer, p.Time.Approval = cmp.Or(p.Time.Answer, 20*time.Second), cmp.Or(p.Time.Approval, 10*time.Minute)
	p.Time.Answer = min(p.Time.Answer, p.Time.Run/2)
	p.Size.Result, p.Size.Run = cmp.Or(p.Size.Result, 64<<10), cmp.Or(p.Size.Run, 256<<10)
	return p
}

// limits are those of a request that allows so many calls, -1 for any number.
func (p *Policy) limits(calls int) gateway.ToolLimits {
	warn := 1
	for warn < p.Rounds && float64(warn) < p.Warn*float64(p.Rounds) {
		warn++
	}
	return gateway.ToolLimits{Rounds: p.Rounds, Warn: warn, Idle: p.Idle, Calls: calls, Parallel: p.Parallel, Attempts: p.Attempts,
		Time: p.Time.Run, Answer: p.Time.Answer, Tool: p.Time.Tool, Result: p.Size.Result, Results: p.Size.Run}
}

// left is how many rounds of calls are left behind one that has run, if the model is to be told.
func (p *Policy) left(round int) (n int, tell bool) {
	return p.Rounds - round, float64(round) >= p.Warn*float64(p.Rounds)
}
