package loop

import (
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// run is the rounds since the last message of the user.
type run struct {
	exchanges []ledger.Call // in the order of their messages
	rounds    []round
	memory    *memory
}

// round is a message of the assistant with calls.
type round struct {
	first int // the place of its first call in the exchanges
	news  int // how many calls brought something new
}

func readRun(l *ledger.Ledger) run {
	r := run{exchanges: l.Turn()}
	if len(r.exchanges) == 0 {
		return r
	}
	r.memory = newMemory(l, r.exchanges)
	for i, e := range r.exchanges {
		if i == 0 || e.Message != r.exchanges[i-1].Message {
			r.rounds = append(r.rounds, round{first: i})
		}
		if i < len(r.exchanges)-maxCompared || r.memory.isNew(i) {
			r.rounds[len(r.rounds)-1].news++
		}
	}
	return r
}

// maxCompared is how many calls are compared with those before them, the last ones. A
// program that goes in circles does so in less, and one with more calls would wait for
// the comparison. What came before counts as new.
const maxCompared = 512

// of returns the exchanges from the nth last round on.
func (r run) last(n int) []ledger.Call {
	return r.exchanges[r.rounds[len(r.rounds)-n].first:]
}

// idle counts the rounds without progress at the end.
func (r run) idle() int {
	n := len(r.rounds)
	for n > 0 && r.rounds[n-1].news == 0 {
		n--
	}
	return len(r.rounds) - n
}

// period returns how many rounds repeat at the end, or 0. A repetition has two full
// periods, as fewer rounds have no pattern, and the second brought nothing new. One
// round that repeats itself has no period of its own: it is what Idle means.
func (r run) period(idle int) int {
	const longest = 3
	var called []uint64 // by the last rounds, backwards
	end := len(r.exchanges)
	for i := len(r.rounds) - 1; i >= 0 && len(called) < 2*longest; i-- {
		called = append(called, r.memory.callsOf(r.rounds[i].first, end))
		end = r.rounds[i].first
	}
	for p := 2; p <= longest; p++ {
		if idle < p || len(called) < 2*p {
			return 0
		}
		repeats, differs := true, false
		for i := range p {
			repeats = repeats && called[i] == called[i+p]
			differs = differs || called[i] != called[0]
		}
		if repeats && differs {
			return p
		}
	}
	return 0
}

// mostCalled returns the tool with the most calls in the last rounds, and the last one
// of several.
func (r run) mostCalled(rounds int) string {
	calls := map[string]int{}
	for _, e := range r.last(rounds) {
		calls[e.Name]++
	}
	most := ""
	for _, e := range r.last(rounds) {
		if calls[e.Name] >= calls[most] {
			most = e.Name
		}
	}
	return most
}
