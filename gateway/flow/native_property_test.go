package flow_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
)

// drawnCall is a call of an upstream.
type drawnCall struct{ id, name, args string }

// drawObject draws an object of strict JSON, with white space wherever it may stand.
func drawObject(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n  "})
	text := rapid.SampledFrom([]string{"Oslo", "", "a, b", "}", "{", "é日", "😀", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, "null", "'", `{\"a\": 1,}`})
	var value func(depth int) string
	value = func(depth int) string {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		switch {
		case kind == 0 && depth > 0:
			return drawObject(t, depth-1)
		case kind == 1 && depth > 0:
			var list []string
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				list = append(list, space.Draw(t, "space")+value(depth-1)+space.Draw(t, "space"))
			}
			return "[" + strings.Join(list, ",") + "]"
		case kind <= 3:
			return `"` + text.Draw(t, "text") + text.Draw(t, "text") + `"`
		}
		return rapid.SampledFrom([]string{"0", "-1.5e+3", "true", "false", "null", "1234567890123456789"}).Draw(t, "word")
	}
	var members []string
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		members = append(members, fmt.Sprintf(`%s"k%d%s"%s:%s%s%s`, space.Draw(t, "space"), i, text.Draw(t, "key"),
			space.Draw(t, "space"), space.Draw(t, "space"), value(depth), space.Draw(t, "space")))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// drawPieces cuts a text anywhere between its characters.
func drawPieces(t *rapid.T, text string) []string {
	var pieces []string
	for rest := []rune(text); len(rest) > 0; {
		n := min(rapid.SampledFrom([]int{1, 1, 2, 3, 5, 8, 40}).Draw(t, "piece"), len(rest))
		pieces = append(pieces, string(rest[:n]))
		rest = rest[n:]
	}
	return pieces
}

func drawCalls(t *rapid.T) []drawnCall {
	var calls []drawnCall
	for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
		name := rapid.SampledFrom([]string{"forecast", "get_time"}).Draw(t, "name")
		calls = append(calls, drawnCall{fmt.Sprintf("id%d", i), name, drawObject(t, 2)})
	}
	return calls
}

// wholeOf is a whole answer with calls.
func wholeOf(calls []drawnCall, finish string) *scripted {
	var entries []string
	for _, c := range calls {
		entries = append(entries, fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, quoted(c.id), quoted(c.name), quoted(c.args)))
	}
	return &scripted{whole: true, blocks: []string{fmt.Sprintf(
		`{"choices":[{"index":0,"message":{"content":null,"tool_calls":[%s]},"finish_reason":%q}]}`, strings.Join(entries, ","), finish)}}
}

// What arguments end in behind which something may have to wait.
var (
	commaLast  = regexp.MustCompile(`,\s*$`)
	escapeLast = regexp.MustCompile(`\\[^"]{0,11}$`)
	wordLast   = regexp.MustCompile(`[a-z]$`)
	spaceLast  = regexp.MustCompile(`[}]\s+$`)
)

func mayWait(args string) bool {
	return commaLast.MatchString(args) || escapeLast.MatchString(args) || wordLast.MatchString(args) || spaceLast.MatchString(args)
}

// TestNativePassThrough holds that calls in which nothing is wrong go through byte for
// byte however they are cut and mixed, and that a frame waits only where the arguments
// so far end in what a repair may change.
func TestNativePassThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		calls := drawCalls(t)
		pending := make([][]string, len(calls))
		for i, c := range calls {
			pending[i] = drawPieces(t, c.args)
		}
		w := &watched{scripted: &scripted{blocks: []string{block(0, `"delta":{"role":"assistant","content":"Let me see."}`)}}}
		come := make([]string, len(calls))
		waits := []bool{false} // behind each block, whether something may wait
		add := func(b string) {
			w.blocks = append(w.blocks, b)
			waits = append(waits, slices.ContainsFunc(come, mayWait))
		}
		for begun := 0; ; {
			open := slices.IndexFunc(pending, func(p []string) bool { return len(p) > 0 })
			if begun == len(calls) && open < 0 {
				break
			}
			choice := rapid.IntRange(0, 9).Draw(t, "next")
			switch i := rapid.IntRange(0, max(0, begun-1)).Draw(t, "call"); {
			case begun < len(calls) && (begun == 0 || choice == 0 || !slices.ContainsFunc(pending[:begun], func(p []string) bool { return len(p) > 0 })):
				c := calls[begun]
				add(entry(fmt.Sprintf(`"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}`, begun, c.id, c.name)))
				begun++
			case choice == 1:
				add(rapid.SampledFrom([]string{": ping", block(0, `"delta":{"content":"Hm, "},"finish_reason":null`), block(0, `"delta":{"tool_calls":[]}`)}).Draw(t, "other"))
			case len(pending[i]) > 0:
				come[i] += pending[i][0]
				add(entry(fmt.Sprintf(`"index":%d,"function":{"arguments":%s}`, i, quoted(pending[i][0]))))
				pending[i] = pending[i][1:]
			}
		}
		w.blocks = append(w.blocks, block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
		out, resp := w.drain(t, gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.PassInvalid})
		if out != w.scripted.raw() || resp.Summary.Changed || len(resp.Summary.Repairs) > 0 {
			t.Fatalf("repairs %v: got\n%s\nwant\n%s", resp.Summary.Repairs, out, w.scripted.raw())
		}
		for i, waiting := range w.waiting {
			if waiting > 0 && (i >= len(waits) || !waits[i]) && i > 0 { // the first is out when there is an answer
				t.Fatalf("%d bytes wait behind block %d:\n%s", waiting, i, strings.Join(w.blocks[:i+1], "\n"))
			}
		}
	})
}

// habits are what an upstream does to all of its calls.
type habits struct {
	index, id, name, finish string
	first                   bool // the arguments begin in the entry that begins the call
	beside                  bool // the finish reason is beside the last piece
	byTurns                 bool // pieces of calls come by turns
}

// drawBroken draws arguments with the slips of models, or any others.
func drawBroken(t *rapid.T) string {
	args := drawObject(t, 1)
	switch rapid.IntRange(0, 9).Draw(t, "slip") {
	case 0:
		return strings.Replace(args, "}", ",}", 1)
	case 1:
		return strings.ReplaceAll(args, `"`, "'")
	case 2:
		return strings.NewReplacer("true", "True", "null", "None").Replace(args)
	case 3:
		return quoted(args)
	case 4:
		return args + rapid.SampledFrom([]string{args, " " + args, "{}", "x", "{", "\n"}).Draw(t, "behind")
	case 5:
		return rapid.SampledFrom([]string{"", " ", "null", "[]", `{"days":"3"}`, `{"days":"x","days":1}`, `{"days":"3",}`, "\"{}", "{a:1}"}).Draw(t, "odd")
	case 6:
		runes := []rune(args)
		return string(runes[:rapid.IntRange(0, len(runes)).Draw(t, "cut")])
	case 7:
		at := rapid.IntRange(0, len(args)).Draw(t, "at")
		return strings.ToValidUTF8(args[:at]+rapid.SampledFrom([]string{",", "}", `"`, "{", "\\", "\n", "é", ":", "0"}).Draw(t, "more")+args[at:], "?")
	}
	return args
}

// stream is the stream of an upstream with habits, and the calls in the order in which
// they begin in it.
func (h *habits) stream(t *rapid.T, calls []drawnCall) (*scripted, []drawnCall) {
	pending := make([][]string, len(calls))
	var order []int
	for i, c := range calls {
		if pending[i] = drawPieces(t, c.args); !h.first || len(pending[i]) == 0 {
			pending[i] = append([]string{""}, pending[i]...)
		}
		for range pending[i] {
			order = append(order, i)
		}
	}
	if h.byTurns {
		order = rapid.Permutation(order).Draw(t, "order")
	}
	s := &scripted{blocks: []string{block(0, `"delta":{"role":"assistant","content":null}`)}}
	begun := map[int]int{}
	var inOrder []drawnCall
	for n, i := range order {
		place, goesOn := begun[i]
		if !goesOn {
			place = len(begun)
			begun[i] = place
			inOrder = append(inOrder, calls[i])
		}
		choice := `"delta":{"tool_calls":[` + h.entry(&calls[i], place, !goesOn, pending[i][0]) + "]}"
		if pending[i] = pending[i][1:]; h.beside && n == len(order)-1 {
			choice += h.reason()
		}
		s.blocks = append(s.blocks, block(0, choice))
	}
	if h.finish != "" && !h.beside {
		s.blocks = append(s.blocks, block(0, `"delta":{}`+h.reason()))
	}
	s.blocks = append(s.blocks, done)
	return s, inOrder
}

func (h *habits) reason() string {
	if h.finish == "" {
		return ""
	}
	return `,"finish_reason":` + quoted(h.finish)
}

// entry is an entry of a call, the n-th of the stream.
func (h *habits) entry(c *drawnCall, n int, begins bool, args string) string {
	var members []string
	if h.index != "none" {
		index := map[string]int{"right": n, "from 1": n + 1, "gap": 3 * n, "zero": 0}[h.index]
		members = append(members, fmt.Sprintf(`"index":%d`, index))
	}
	if id := h.idOf(c); id != "" && (begins || h.id == "every piece") {
		members = append(members, `"id":`+id)
	}
	name := ""
	if begins || h.name == "every piece" {
		members = append(members, `"type":"function"`)
		name = fmt.Sprintf(`"name":%q,`, c.name)
	}
	return "{" + strings.Join(append(members, fmt.Sprintf(`"function":{%s"arguments":%s}`, name, quoted(args))), ",") + "}"
}

// idOf is the id of a call, as JSON; "" if there is none.
func (h *habits) idOf(c *drawnCall) string {
	switch h.id {
	case "missing":
		return ""
	case "empty":
		return `""`
	case "twice":
		return `"same"`
	}
	return quoted(c.id)
}

// tells reports whether it is clear which call a piece is of, even where the one
// before is not complete.
func (h *habits) tells() bool {
	byID := h.id != "missing" && h.id != "empty"
	return h.index != "zero" && h.index != "none" && (byID || h.name == "right")
}

func drawHabits(t *rapid.T) *habits {
	h := &habits{
		index:   rapid.SampledFrom([]string{"right", "right", "from 1", "gap", "zero", "none"}).Draw(t, "index"),
		id:      rapid.SampledFrom([]string{"right", "every piece", "missing", "empty", "twice"}).Draw(t, "id"),
		name:    rapid.SampledFrom([]string{"right", "right", "every piece"}).Draw(t, "name of pieces"),
		finish:  rapid.SampledFrom([]string{"tool_calls", "tool_calls", "stop", "length", ""}).Draw(t, "finish"),
		first:   rapid.Bool().Draw(t, "first"),
		beside:  rapid.Bool().Draw(t, "beside"),
		byTurns: rapid.Bool().Draw(t, "by turns"),
	}
	if !h.tells() {
		h.byTurns = false
		if h.id == "twice" { // nothing tells two calls of a tool apart
			h.id = "right"
		}
	}
	return h
}

// checkNativeForm holds that whatever an upstream makes of its calls, clients get
// chunks that they can join, and from a stream the same as from a whole answer.
func checkNativeForm(t *rapid.T) {
	h := drawHabits(t)
	var calls []drawnCall
	for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
		name := rapid.SampledFrom([]string{"forecast", "get_time", "GetTime", "nobody"}).Draw(t, "name")
		args := drawObject(t, 1)
		if h.tells() { // or a call has to be complete where the next one begins
			args = drawBroken(t)
		}
		calls = append(calls, drawnCall{fmt.Sprintf("id%d", i), name, args})
	}
	target := gateway.Target{Mode: gateway.Repair, OnInvalid: rapid.SampledFrom([]gateway.InvalidPolicy{gateway.PassInvalid, gateway.PassInvalid, gateway.RejectInvalid}).Draw(t, "policy")}
	s, calls := h.stream(t, calls)
	for i := range calls { // as JSON
		calls[i].id = strings.Trim(h.idOf(&calls[i]), `"`)
	}
	out, resp, err := exchange(t, s, target, forecastRequest)
	wholeOut, wholeResp, wholeErr := exchange(t, wholeOf(calls, h.finish), target, forecastRequest)
	if (err == nil) != (wholeErr == nil) {
		t.Fatalf("habits %+v: streamed %v, whole %v:\n%s", *h, err, wholeErr, s.raw())
	}
	if err != nil {
		return
	}
	got, want := readStream(t, out), readWhole(t, wholeOut)
	got.checkForm(t, out)
	want.checkForm(t, wholeOut)
	if !slices.EqualFunc(got.choice(0).calls, want.choice(0).calls, func(a, b *answerCall) bool { return a.name == b.name && a.args == b.args }) {
		t.Fatalf("habits %+v: from\n%s\ngot\n%s\nwant\n%s\nin\n%s", *h, s.raw(), got, want, out)
	}
	for _, class := range []string{"invalid_json", "schema_mismatch", "unknown_name", "empty_args"} {
		if got, want := resp.Summary.Faults[class], wholeResp.Summary.Faults[class]; got != want {
			t.Fatalf("%s: %d calls streamed, %d whole, in\n%s", class, got, want, s.raw())
		}
	}
	for _, call := range got.choice(0).calls {
		if resp.Summary.Faults["invalid_json"] == 0 && h.finish != "length" && !json.Valid([]byte(call.args)) {
			t.Fatalf("%q is no JSON, and no fault is counted in\n%s", call.args, s.raw())
		}
	}
}

func TestNativeForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkNativeForm)
}

func FuzzNativeForm(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkNativeForm)) }
