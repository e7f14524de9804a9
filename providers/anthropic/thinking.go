package anthropic

import "strconv"

// minBudget is the smallest budget of thinking that the Messages API takes.
const minBudget = 1024

// efforts are OpenAI's words for reasoning_effort, as a number of tokens for models
// that are told one, and as the word of output_config.effort for the others. The
// largest leaves an answer of the usual length within 32,000 tokens, the least that
// one of the thinking models may give.
var efforts = map[string]struct {
	budget int
	word   string
}{
	"minimal": {minBudget, "low"},
	"low":     {2048, "low"},
	"medium":  {8192, "medium"},
	"high":    {16384, "high"},
	"xhigh":   {20480, "xhigh"},
	"max":     {20480, "max"},
}

// thinking is what a request says about thinking, and the limit that depends on it.
type thinking struct {
	v       value  // the field thinking, nil for none
	effort  string // output_config.effort, if it is not empty
	max     value  // max_tokens
	derived bool   // it is switched on for the sake of reasoning_effort
}

// situation is what the rest of the request means for thinking.
type situation struct {
	model  generation
	forced bool // a call is demanded
	// mustThink: the tool loop at the conversation's end began without thinking.
	mustThink bool
}

// readThinking translates reasoning_effort and the limit on tokens. The client's own
// field thinking passes as it is and wins.
//
// Claude before 4.6 and other vendors' models are told a budget, which counts within
// max_tokens: a limit of the client's is kept, with at most half of it for thinking,
// and without one the budget comes on top of defaultMax. Later models decide by
// themselves ("adaptive") and are told the effort.
//
// Where the Messages API would refuse thinking, reasoning_effort is dropped and
// reported: together with a tool that must be called; with a limit that leaves no
// room; and, for models with a budget, in the midst of a tool loop whose first turn
// came back without its thinking_blocks.
func (r *request) readThinking(defaultMax int, s situation) thinking {
	limit := r.limit()
	t := thinking{v: r.in["thinking"], max: limit}
	word := text(r.in["reasoning_effort"])
	e, known := efforts[word]
	extra := 0
	switch {
	case t.v != nil:
		if word != "" {
			r.warnings.drop("reasoning_effort")
		}
		extra = number(fields(t.v)["budget_tokens"])
	case word == "":
	case word == "none":
		t.v = value(`{"type":"disabled"}`)
	case !known, s.forced:
		r.warnings.drop("reasoning_effort")
	case s.model.claude() && !s.model.before(4, 6):
		t.v, t.effort, t.derived, extra = value(`{"type":"adaptive"}`), e.word, true, e.budget
	default:
		extra = r.setBudget(&t, e.budget, s)
	}
	if limit == nil {
		t.max = value(strconv.Itoa(defaultMax + extra))
	}
	return t
}

// setBudget switches thinking on with a budget, if it can be, and returns it.
func (r *request) setBudget(t *thinking, budget int, s situation) int {
	limit := number(t.max)
	if s.mustThink || t.max != nil && limit <= minBudget {
		r.warnings.drop("reasoning_effort")
		return 0
	}
	if room := max(limit/2, minBudget); t.max != nil && budget > room {
		r.warnings.add("clamped", "reasoning_effort")
		budget = room
	}
	var o object
	o.setString("type", "enabled")
	o.set("budget_tokens", value(strconv.Itoa(budget)))
	t.v, t.derived = o.close(), true
	return budget
}

// limit is the client's limit on tokens, nil if it has none. max_completion_tokens
// is the newer name.
func (r *request) limit() value {
	newer, older := r.in["max_completion_tokens"], r.in["max_tokens"]
	if newer == nil {
		return older
	}
	if older != nil && string(older) != string(newer) {
		r.warnings.drop("max_tokens")
	}
	return newer
}

// number is a count of tokens; 0 if v is none.
func number(v value) int {
	n, err := strconv.ParseUint(string(v), 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}
