package rollout

import (
	"bytes"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Call is a call of a tool, with its arguments as they came.
type Call struct{ Name, Arguments string }

// Answer is what there is to compare of an answer.
type Answer struct {
	Calls []Call
	// Failed says that there is no answer, Broken that a call of it stayed broken, and Ghost that it
	// claims an action and calls nothing.
	Failed, Broken, Ghost bool
	// FirstToken and Took are from the request to the first useful byte and to the end.
	FirstToken, Took time.Duration
	Input, Output    int // tokens, 0 if nobody says
}

// Side is the sums of one side of all pairs in which neither has failed.
type Side struct {
	Called  int     `json:"called"`
	Valid   int     `json:"valid"` // no call stayed broken, and none is missing
	Ghosts  int     `json:"ghosts"`
	First   float64 `json:"first_token_seconds"` // the mean, as the next
	Took    float64 `json:"seconds"`
	Input   int     `json:"input_tokens"`
	Output  int     `json:"output_tokens"`
	elapsed [2]time.Duration
}

func (s *Side) add(a Answer, pairs int) {
	if len(a.Calls) > 0 {
		s.Called++
	}
	if !a.Broken && !a.Ghost {
		s.Valid++
	}
	if a.Ghost {
		s.Ghosts++
	}
	s.elapsed[0] += a.FirstToken
	s.elapsed[1] += a.Took
	s.First, s.Took = s.elapsed[0].Seconds()/float64(pairs), s.elapsed[1].Seconds()/float64(pairs)
	s.Input, s.Output = s.Input+a.Input, s.Output+a.Output
}

// PairTally sums up pairs: a live answer and the mirror's to the same request.
type PairTally struct {
	// Pairs is how many are compared. Failed are those whose mirrored request failed, and which are not.
	Pairs  int `json:"pairs"`
	Failed int `json:"failed"`
	// SameTools are pairs that call the same tools in the same order, none among them, and
	// SameArguments those of them whose arguments are the same JSON.
	SameTools     int  `json:"same_tools"`
	SameArguments int  `json:"same_arguments"`
	Live          Side `json:"live"`
	Mirror        Side `json:"mirror"`
}

// Add counts a pair. One whose live request failed says nothing, and is left out.
func (t *PairTally) Add(live, mirror Answer) {
	switch {
	case live.Failed:
		return
	case mirror.Failed:
		t.Failed++
		return
	}
	t.Pairs++
	tools, arguments := same(live.Calls, mirror.Calls)
	if tools {
		t.SameTools++
	}
	if arguments {
		t.SameArguments++
	}
	t.Live.add(live, t.Pairs)
	t.Mirror.add(mirror, t.Pairs)
}

// same compares calls: whether they are of the same tools in the same order, and whether their
// arguments are the same JSON too.
func same(a, b []Call) (tools, arguments bool) {
	if !slices.EqualFunc(a, b, func(x, y Call) bool { return x.Name == y.Name }) {
		return false, false
	}
	return true, slices.EqualFunc(a, b, func(x, y Call) bool { return bytes.Equal(canonical(x.Arguments), canonical(y.Arguments)) })
}

// canonical is JSON in one form: no spaces, members sorted, numbers and texts written in one way. What
// is no JSON stays as it is; no arguments are an empty object.
func canonical(arguments string) []byte {
	value := jsontext.Value(arguments)
	if len(bytes.TrimSpace(value)) == 0 {
		return []byte("{}")
	}
	if value.Canonicalize() != nil {
		return []byte(arguments)
	}
	return value
}
