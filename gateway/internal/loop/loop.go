// Package loop says whether an agent goes in circles. An agent sends its whole
// conversation with each request, so the messages alone tell: nothing is remembered
// between requests, and another replica of the gateway says the same. What a turn has taken in time
// and money is package turns', and only judged here.
//
// What counts is whether a call brought something new, not whether it was made
// before: who polls a job whose percentage moves gets on, and who asks for one file
// after the other and is told "not found" each time does not. Where a result may be
// read both ways, it counts as new. To stop a program at work is worse than to let
// one that goes in circles reach the limit on rounds.
package loop

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/internal/ledger"
)

// The limits that hold where none are given.
const (
	// DefaultRounds is enough for what chat programs do with tools in one turn. Programs that write
	// code need more, see Limits.Coding.
	DefaultRounds = 15
	// callsPerRound is how many calls a round may have on average where nobody says.
	callsPerRound = 10
	// DefaultIdle is as many as OpenHands allows of actions that end in the same error.
	// Twice the same happens to programs that get on: a second look, a second try.
	DefaultIdle = 3
)

// Limits say when to stop. Zero means the default, and so does less; of Time and Nano that is no limit.
type Limits struct {
	// Rounds is how many rounds of calls may follow a message of the user.
	Rounds int
	// Coding is Rounds where the request offers tools that run commands or edit files.
	Coding int
	// Calls is how many calls may follow a message of the user; the default is ten times the
	// rounds.
	Calls int
	// Idle is how many rounds without progress may come in a row.
	Idle int
	// Time is how long a turn may last, from its first request on, with the time in which the client
	// runs its tools.
	Time time.Duration
	// Nano is what it may cost, in 10⁻⁹ US dollars.
	Nano int64
}

// Reason says why a conversation should not go on as it does, in the words that
// clients and metrics see.
type Reason string

// The reasons. There is none in the zero value.
const (
	// Limit means that there were as many rounds as are allowed.
	Limit Reason = "limit"
	// Calls means that there were as many calls as are allowed.
	Calls Reason = "calls"
	// Time and Cost mean that the turn has lasted as long, or cost as much, as it may.
	Time Reason = "time"
	Cost Reason = "cost"
	// Idle means that the last rounds brought nothing new.
	Idle Reason = "no_progress"
	// Oscillation means the same, and that their calls repeat in turn: A B A B.
	Oscillation Reason = "oscillation"
)

// Report is what was seen since the last message of the user.
type Report struct {
	// Rounds counts the assistant's messages with calls, and Limit is how many may be.
	Rounds, Limit int
	// Calls counts the calls in them, and NewResults those that brought something new. Of
	// more than 512 calls all but the last ones count as such.
	Calls, NewResults int
	// Efficiency is the share of the rounds that brought something new, from 0 to 1, and
	// 1 if there was no round.
	Efficiency float64
	// Near is set from 80 % of the limit on, of the rounds, the time or the costs.
	Near bool
	// Stop is the reason to stop. Where there are several it is the most exact one:
	// Oscillation, Idle, Limit, Calls, Time, Cost. The limit was reached if Rounds is Limit, whatever Stop
	// says.
	Stop Reason
	// Tool is the one that was called most in the rounds without progress at the end, and
	// the last one of several. It is empty if Stop is empty, or none of Idle and Oscillation.
	Tool string
	// Period is how many rounds repeat, 2 or 3, if Stop is Oscillation, otherwise 0.
	Period int
	// Taken is what the turn has taken of what it may, where that is limited.
	Taken Taken
}

// Taken is what a turn has taken so far. A limit of 0 is none.
type Taken struct {
	Time, MaxTime time.Duration
	// Nano is in 10⁻⁹ US dollars, of the answers whose price is known; Unpriced says that there were
	// others.
	Nano, MaxNano int64
	Unpriced      bool
}

// Check looks at the rounds of a conversation since the last message of the user, whose request
// offers tools.
// The gateway asks it before it sends a request: one more answer with calls would
// begin another round. It fails on nothing. What is not made as OpenAI's messages
// are does not count.
//
// Time and memory are linear in the text since that message.
func Check(c *ledger.Ledger, tools []string, l Limits) Report {
	l.Rounds = cmp.Or(max(l.Rounds, 0), DefaultRounds)
	if slices.ContainsFunc(tools, writesCode) {
		l.Rounds = max(l.Rounds, l.Coding)
	}
	l.Idle = cmp.Or(max(l.Idle, 0), DefaultIdle)
	l.Calls = cmp.Or(max(l.Calls, 0), callsPerRound*min(l.Rounds, 1<<20))
	run := readRun(c)

	r := Report{Rounds: len(run.rounds), Limit: l.Rounds, Calls: len(run.exchanges), Efficiency: 1}
	if r.Rounds == 0 {
		return r
	}
	progress := 0
	for _, round := range run.rounds {
		r.NewResults += round.news
		if round.news > 0 {
			progress++
		}
	}
	r.Efficiency = float64(progress) / float64(r.Rounds)
	r.Near = r.Rounds >= l.Rounds-l.Rounds/5

	switch idle := run.idle(); {
	case idle >= l.Idle:
		r.Stop, r.Period = Idle, run.period(idle)
		if r.Period > 0 {
			r.Stop = Oscillation
		}
		r.Tool = run.mostCalled(idle)
	case r.Rounds >= l.Rounds:
		r.Stop = Limit
	case r.Calls >= l.Calls:
		r.Stop = Calls
	}
	return r
}

// Take adds what the turn has taken so far to a report that has rounds.
func (r *Report) Take(taken time.Duration, nano int64, unpriced bool, l Limits) {
	t := &r.Taken
	if l.Time > 0 {
		t.Time, t.MaxTime = taken, l.Time
	}
	if l.Nano > 0 {
		t.Nano, t.MaxNano, t.Unpriced = nano, l.Nano, unpriced
	}
	long, dear := l.Time > 0 && taken >= l.Time, l.Nano > 0 && nano >= l.Nano
	r.Near = r.Near || l.Time > 0 && taken >= l.Time-l.Time/5 || l.Nano > 0 && nano >= l.Nano-l.Nano/5
	switch {
	case r.Stop != "":
	case long:
		r.Stop = Time
	case dear:
		r.Stop = Cost
	}
}

// writesCode reports whether a tool runs commands or edits files, as those of coding agents do.
func writesCode(name string) bool {
	switch name = strings.ToLower(name); name {
	case "bash", "shell", "terminal", "execute_command", "run_command", "run_terminal_cmd", "exec_command", "local_shell", "apply_patch",
		"edit", "edit_file", "multiedit", "write", "write_file", "write_to_file", "replace_in_file", "str_replace_editor",
		"str_replace_based_edit_tool", "create_file", "search_replace", "execute_bash", "run_shell_command", "container.exec":
		return true
	}
	_, own, found := strings.Cut(name, "__") // mcp__files__edit_file
	return found && (strings.HasSuffix(own, "__edit_file") || strings.HasSuffix(own, "__write_file"))
}
