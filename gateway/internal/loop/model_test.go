package loop_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
)

// A second implementation: quadratic, without hashes, and with a list of results
// whose kind is known.

type kind int

const (
	fact   kind = iota
	failed      // or long: new once for a tool
	void        // new if the tool acts
	list        // never new
)

var (
	long    = strings.Repeat("long ", 100)
	results = map[string]kind{
		"ok": fact, "1": fact, "2": fact, "3": fact, `{"success":true}`: fact, "running, 10 %": fact, "running, 20 %": fact,
		"not found": failed, `{"error":"busy"}`: failed, long: failed, "": void, "null": void, " ": void, "[]": list,
	}
	tools     = []string{"get_x", "set_x", "search"}
	arguments = []string{`{}`, ``, ` {} `, `{"a":1,"b":[2]}`, `{ "b" : [2] , "a" : 1 }`, `{"a":1,"b":[3]}`, `{"a":12345678901234567890}`,
		`{"a":12345678901234567891}`, `{"a":1.50}`, `{"a":1.5}`, `{"a":`, `[{"x":"\u0061"}]`, `[{"x":"a"}]`}
)

// modelCall is a call with its result, or without one.
type modelCall struct {
	tool, arguments, result string
	answered                bool
}

func drawRounds(t *rapid.T, longest int) [][]modelCall {
	texts := make([]string, 0, len(results))
	for text := range results {
		texts = append(texts, text)
	}
	sort.Strings(texts)
	call := rapid.Custom(func(t *rapid.T) modelCall {
		return modelCall{
			tool: rapid.SampledFrom(tools).Draw(t, "tool"), arguments: rapid.SampledFrom(arguments).Draw(t, "arguments"),
			result: rapid.SampledFrom(texts).Draw(t, "result"), answered: rapid.IntRange(0, 9).Draw(t, "answered") > 0,
		}
	})
	round := rapid.OneOf(rapid.SliceOfN(call, 1, 1), rapid.SliceOfN(call, 1, 3))
	fresh := rapid.SliceOfN(round, 1, longest).Draw(t, "rounds")
	part := rapid.IntRange(1, min(3, len(fresh))).Draw(t, "repeated part")
	for range rapid.IntRange(0, 3).Draw(t, "repetitions") {
		fresh = append(fresh, fresh[len(fresh)-part:]...)
	}
	return fresh
}

// write returns the messages of rounds, with results in any order where the ids allow.
func write(t *rapid.T, rounds [][]modelCall) []byte {
	all := []string{`{"role":"user","content":"Go."}`}
	for n, round := range rounds {
		var calls, given []string
		for i, c := range round {
			id := quote(fmt.Sprintf("call_%d", i))
			if n%2 == 0 {
				id = quote(fmt.Sprintf("call_%d_%d", n, i))
			}
			calls = append(calls, `{"id":`+id+`,"type":"function","function":{"name":`+quote(c.tool)+`,"arguments":`+quote(c.arguments)+`}}`)
			if c.answered {
				given = append(given, `{"role":"tool","tool_call_id":`+id+`,"content":`+quote(c.result)+`}`)
			}
		}
		all = append(all, `{"role":"assistant","tool_calls":[`+strings.Join(calls, ",")+`]}`)
		all = append(all, rapid.Permutation(given).Draw(t, "order")...)
	}
	return []byte("[" + strings.Join(all, ",") + "]")
}

func sameArguments(a, b string) bool {
	value := func(s string) any {
		if s = strings.TrimSpace(s); s == "" {
			s = "{}"
		}
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber() // of which 1.5 and 1.50 are two
		var v any
		if d.Decode(&v) != nil {
			return s
		}
		return v
	}
	return reflect.DeepEqual(value(strings.Replace(a, "1.50", "1.5", 1)), value(strings.Replace(b, "1.50", "1.5", 1)))
}

// modelNew says whether the last of some calls brought something new.
func modelNew(calls []modelCall) bool {
	c := calls[len(calls)-1]
	if !c.answered || results[c.result] == list || results[c.result] == void && c.tool != "set_x" {
		return false
	}
	for _, before := range calls[:len(calls)-1] {
		same := before.answered && before.tool == c.tool && strings.TrimSpace(before.result) == strings.TrimSpace(c.result)
		if same && (results[c.result] == failed || sameArguments(before.arguments, c.arguments)) {
			return false
		}
	}
	return true
}

func sameRound(a, b []modelCall) bool {
	left := slices.Clone(b)
	for _, c := range a {
		i := slices.IndexFunc(left, func(d modelCall) bool { return c.tool == d.tool && sameArguments(c.arguments, d.arguments) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// repeatsIn says whether the last rounds repeat with a period.
func repeatsIn(rounds [][]modelCall, period int) bool {
	if len(rounds) < 2*period {
		return false
	}
	for i := len(rounds) - period; i < len(rounds); i++ {
		if !sameRound(rounds[i], rounds[i-period]) {
			return false
		}
	}
	return true
}

func modelReport(rounds [][]modelCall, idleLimit, roundLimit int) loop.Report {
	r := loop.Report{Rounds: len(rounds), Limit: roundLimit, Near: float64(len(rounds)) >= 0.8*float64(roundLimit)}
	var calls []modelCall
	idle, progress := 0, 0
	for _, round := range rounds {
		news := 0
		for _, c := range round {
			if calls = append(calls, c); modelNew(calls) {
				news++
			}
		}
		r.NewResults += news
		if idle++; news > 0 {
			idle = 0
			progress++
		}
	}
	r.Calls, r.Efficiency = len(calls), float64(progress)/float64(len(rounds))
	switch {
	case idle < idleLimit && len(rounds) < roundLimit:
		return r
	case idle < idleLimit:
		r.Stop = loop.Limit
		return r
	}
	r.Stop = loop.Idle
	three := repeatsIn(rounds, 3) && idle >= 3
	if three && sameRound(rounds[len(rounds)-1], rounds[len(rounds)-2]) && sameRound(rounds[len(rounds)-2], rounds[len(rounds)-3]) {
		three = false
	}
	if two := repeatsIn(rounds, 2) && idle >= 2 && !sameRound(rounds[len(rounds)-1], rounds[len(rounds)-2]); two {
		r.Stop, r.Period = loop.Oscillation, 2
	} else if three {
		r.Stop, r.Period = loop.Oscillation, 3
	}
	most, times := "", map[string]int{}
	for _, round := range rounds[len(rounds)-idle:] {
		for _, c := range round {
			times[c.tool]++
		}
	}
	for _, round := range rounds[len(rounds)-idle:] {
		for _, c := range round {
			if times[c.tool] >= times[most] {
				most = c.tool
			}
		}
	}
	r.Tool = most
	return r
}

// TestModel compares the two.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rounds := drawRounds(t, 8)
		limits := loop.Limits{Rounds: rapid.IntRange(1, 20).Draw(t, "round limit"), Idle: rapid.IntRange(1, 5).Draw(t, "idle limit")}
		text := write(t, rounds)
		got, want := loop.Check(ledger.New(conversation.Read(text), nil), nil, limits), modelReport(rounds, limits.Idle, limits.Rounds)
		if got != want {
			t.Fatalf("%s\ngot  %+v\nwant %+v", text, got, want)
		}
	})
}

// TestModelReaches: what TestModel draws has all the reasons, or it would show little.
func TestModelReaches(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	draw := rapid.Custom(func(t *rapid.T) [][]modelCall { return drawRounds(t, 8) })
	for seed := range 500 {
		r := modelReport(draw.Example(seed), 3, 8)
		seen[fmt.Sprintf("%s/%d", r.Stop, r.Period)]++
	}
	for _, want := range []string{"/0", "limit/0", "no_progress/0", "oscillation/2", "oscillation/3"} {
		if seen[want] < 3 {
			t.Errorf("got %d of 500 with %s, want some: %v", seen[want], want, seen)
		}
	}
}
