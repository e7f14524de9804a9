package quality

// Target is whose calls are counted: a model of a provider, and how its text is read.
type Target struct {
	Provider, Model string
	// Parser is what the configuration says: a parser's name, several with commas, "auto", or
	// "native" where no text is read.
	Parser string
}

// Tool is a tool as a client has offered it: one name with two schemas is two tools.
type Tool struct {
	Name   string
	Schema uint64 // a hash
}

// Result is what became of a call, or of a turn.
type Result uint8

// The results, from the best to the worst. What follows Corrected counts as nothing.
const (
	Clean       Result = iota
	Repaired           // the gateway has repaired it, and nobody was asked
	Corrected          // the model made it well when it was asked again
	Unparseable        // no JSON, or markup that nobody can read
	Invalid            // the arguments do not fit the tool
	Unknown            // there is no such tool
	Ghost              // the model says that it has called, and has not
	Loop               // the same call again, and nothing comes of it
	results
)

// String is the result's name in metrics and JSON.
func (r Result) String() string {
	return [results]string{"clean", "repaired", "corrected", "unparseable", "invalid", "unknown_tool", "ghost", "loop"}[r]
}

// Score is what a result counts, 0 to 1.
func (r Result) Score() float64 {
	switch r {
	case Clean:
		return 1
	case Repaired:
		return .8
	case Corrected:
		return .4
	}
	return 0
}

// Excuse is why a turn is not scored: it says nothing about how the model calls.
type Excuse uint8

// The excuses.
const (
	Upstream Excuse = iota // 429, 5xx, a timeout, an answer that breaks off, tools that it refuses
	Cut                    // the limit of tokens or a filter has ended it
	NoCall                 // nothing was called, and nothing had to be
	Left                   // the client did not wait for the end
	Unread                 // calls are not looked at (tool_calls: off)
	Ours                   // the gateway itself has ended it
	excuses
)

// String is the excuse's name in metrics and JSON.
func (e Excuse) String() string {
	return [excuses]string{"upstream", "cut", "no_call", "client_left", "unread", "gateway"}[e]
}

// Turn is what became of the calls of one answer.
type Turn struct {
	// Aim says whether each call was one of a tool that was offered: Clean; Corrected, if only when
	// the model was asked again; or Unparseable, Unknown, Ghost or Loop, where no tool can be named.
	Aim Result
	// Calls are those of tools that were offered. Of several of one tool the worst counts.
	Calls []Call
}

// Call is what became of the calls of one tool.
type Call struct {
	Tool   Tool
	Result Result
}

// Add notes a call of a tool. It allocates for the first.
func (t *Turn) Add(tool Tool, r Result) {
	for i := range t.Calls {
		if t.Calls[i].Tool == tool {
			t.Calls[i].Result = max(t.Calls[i].Result, r)
			return
		}
	}
	if len(t.Calls) < maxToolsOfTurn {
		t.Calls = append(t.Calls, Call{tool, r})
	}
}

// Result is the turn's: its worst.
func (t *Turn) Result() Result {
	worst := t.Aim
	for _, c := range t.Calls {
		worst = max(worst, c.Result)
	}
	return worst
}

// Correct is what became of a turn whose first answer failed, when the model was asked again: now.
// What is good now counts as [Corrected]; what is not fails once, and what was to be made again and
// was not has failed.
func (t *Turn) Correct(now Turn) Turn {
	corrected := func(r Result) Result {
		if r < Corrected {
			return Corrected
		}
		return r
	}
	out := Turn{Aim: now.Aim}
	if t.Aim > Clean {
		out.Aim = corrected(now.Aim)
		if now.Aim == Clean && len(now.Calls) == 0 {
			out.Aim = t.Aim
		}
	}
	for _, c := range now.Calls {
		if t.Aim > Clean || t.failed(c.Tool) {
			c.Result = corrected(c.Result)
		}
		out.Add(c.Tool, c.Result)
	}
	for _, c := range t.Calls {
		if c.Result > Corrected && !now.has(c.Tool) {
			out.Add(c.Tool, c.Result)
		}
	}
	return out
}

func (t *Turn) has(tool Tool) bool {
	for _, c := range t.Calls {
		if c.Tool == tool {
			return true
		}
	}
	return false
}

func (t *Turn) failed(tool Tool) bool {
	for _, c := range t.Calls {
		if c.Tool == tool {
			return c.Result > Corrected
		}
	}
	return false
}
