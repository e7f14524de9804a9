package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
)

// structured is a request that wants JSON, and structuredTarget a target that sees to it.
const (
	answerSchema = `{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"integer"}},"required":["city","degrees"],"additionalProperties":false}`
	structured   = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Weather?"}],"response_format":{"type":"json_schema","json_schema":{"name":"weather","strict":true,"schema":` + answerSchema + `}}}`
)

func structuredTarget(policy gateway.InvalidPolicy) gateway.Target {
	return gateway.Target{Mode: gateway.Repair, Structured: gateway.Repair, OnBadOutput: policy}
}

func asWhole(body string) string { return strings.Replace(body, `"stream":true`, `"stream":false`, 1) }

// TestStructured holds what becomes of answers that are to be JSON, whole and streamed in pieces of
// every size.
func TestStructured(t *testing.T) {
	t.Parallel()
	const good = `{"city": "Oslo", "degrees": 3}`
	for _, tt := range []struct {
		name, text, want string
		result           string
		repairs, faults  string
		warnings         string
	}{
		{"good", good, good, "ok", "", "", ""},
		{"fence", "```json\n" + good + "\n```", good, "repaired", "answer_fence=1", "answer_json=1", ""},
		{"prose", "Here you are:\n" + good + "\nBye.", good, "repaired", "answer_prose=1", "answer_json=1", ""},
		{"slips", `{'city': 'Oslo', degrees: 3,}`, `{"city": "Oslo", "degrees": 3}`, "repaired", "answer_json=1", "answer_json=1", ""},
		{"type", `{"city": "Oslo", "degrees": "3"}`, good, "repaired", "answer_types=1", "answer_schema=1", ""},
		{"missing", `{"city": "Oslo"}`, `{"city": "Oslo"}`, "invalid;class=answer_schema;path=degrees", "", "answer_schema=1", "answer_schema"},
		{"prose alone", "I do not know.", "I do not know.", "invalid;class=answer_json", "", "answer_json=1", "answer_json"},
		{"two", `{"city":"Oslo","degrees":3} or {"city":"Bergen","degrees":4}`, `{"city":"Oslo","degrees":3} or {"city":"Bergen","degrees":4}`, "invalid;class=answer_json", "", "answer_json=1", "answer_json"},
		{"not closed", `{"city": "Oslo", "degrees": 3`, `{"city": "Oslo", "degrees": 3`, "invalid;class=answer_json;path=degrees", "", "answer_json=1", "answer_json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := func(way, content string, s *gateway.Summary) {
				t.Helper()
				if strings.TrimSpace(content) != strings.TrimSpace(tt.want) {
					t.Errorf("%s: got %q, want %q", way, content, tt.want)
				}
				got := string(s.Structured.Result)
				if s.Structured.Class != "" {
					got += ";class=" + s.Structured.Class
				}
				if s.Structured.Path != "" {
					got += ";path=" + s.Structured.Path
				}
				if got != tt.result || s.RepairList() != tt.repairs || s.FaultList() != tt.faults || strings.Join(s.Warnings, ",") != tt.warnings {
					t.Errorf("%s: got %q, repairs %q, faults %q, warnings %q", way, got, s.RepairList(), s.FaultList(), s.Warnings)
				}
			}
			for size := 1; size <= len(tt.text); size++ {
				var texts []string
				for rest := tt.text; rest != ""; {
					n := min(size, len(rest))
					texts, rest = append(texts, rest[:n]), rest[n:]
				}
				in := stream("stop", texts...)
				out, resp, err := exchange(t, in, structuredTarget(gateway.PassInvalid), structured)
				if err != nil {
					t.Fatal(err)
				}
				check(fmt.Sprintf("in pieces of %d", size), join(t, out).content, resp.Summary)
				if tt.result == "ok" && out != in.raw() {
					t.Errorf("in pieces of %d a good answer goes out changed: %s", size, out)
				}
			}
			in := whole(tt.text, "stop")
			out, resp, err := exchange(t, in, structuredTarget(gateway.PassInvalid), asWhole(structured))
			if err != nil {
				t.Fatal(err)
			}
			var message struct {
				Choices []struct{ Message struct{ Content string } }
			}
			if err := json.Unmarshal([]byte(out), &message); err != nil {
				t.Fatal(err)
			}
			check("whole", message.Choices[0].Message.Content, resp.Summary)
			if tt.text == tt.want && out != in.blocks[0] {
				t.Errorf("whole: what needs no change goes out changed: %s", out)
			}
			// In report mode nothing changes, and the same is said.
			report := structuredTarget(gateway.ReaskInvalid)
			report.Structured = gateway.Report
			if out, resp, err = exchange(t, in, report, asWhole(structured)); err != nil || out != in.blocks[0] || resp.Summary.FaultList() != tt.faults || resp.Summary.RepairList() != tt.repairs {
				t.Errorf("report: got %s, %v, %s", out, err, resp.Summary.FaultList())
			}
		})
	}
}

// TestStructuredInside holds that what is nested in an answer is given its type by the rules by which
// members of the answer itself are, streamed and whole.
func TestStructuredInside(t *testing.T) {
	t.Parallel()
	const (
		person = `{"type":"object","properties":{"age":{"type":"integer"},"name":{"type":"string"},"boss":{"anyOf":[{"$ref":"#/$defs/person"},{"type":"null"}]}},"required":["age"]}`
		schema = `{"type":"object","properties":{"who":{"$ref":"#/$defs/person"},"ages":{"type":"array","items":{"type":"integer","nullable":true}}},"$defs":{"person":` + person + `}}`
		body   = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Who?"}],"response_format":{"type":"json_schema","json_schema":{"name":"who","schema":` + schema + `}}}`
	)
	for _, tt := range []struct{ name, text, want, repairs, result string }{
		{"a member", `{"who":{"age":"4","name":"5"}}`, `{"who":{"age":4,"name":"5"}}`, "answer_types=1", "repaired"},
		{"a member of a member", `{"who":{"age":4,"boss":{"age":"60","boss":{"age":"70"}}}}`, `{"who":{"age":4,"boss":{"age":60,"boss":{"age":70}}}}`, "answer_types=1", "repaired"},
		{"null", `{"who":{"age":4,"boss":"null"}}`, `{"who":{"age":4,"boss":null}}`, "answer_types=1", "repaired"},
		{"elements", `{"ages":["4", 5, "null", "6"]}`, `{"ages":[4, 5, null, 6]}`, "answer_types=1", "repaired"},
		{"in a fence, with slips", "```json\n{'who': {age: '4',}}\n```", `{"who": {"age": 4}}`, "answer_fence=1,answer_json=1,answer_types=1", "repaired"},
		{"no number", `{"who":{"age":"four"}}`, `{"who":{"age":"four"}}`, "", "invalid"},
	} {
		in := stream("stop", strings.Split(tt.text, "")...)
		out, resp, err := exchange(t, in, structuredTarget(gateway.PassInvalid), body)
		if got := strings.TrimSpace(join(t, out).content); err != nil || got != tt.want || resp.Summary.RepairList() != tt.repairs || string(resp.Summary.Structured.Result) != tt.result {
			t.Errorf("%s: got %s, %v, repairs %q, %+v", tt.name, got, err, resp.Summary.RepairList(), resp.Summary.Structured)
		}
		out, resp, err = exchange(t, whole(tt.text, "stop"), structuredTarget(gateway.PassInvalid), asWhole(body))
		if err != nil || strings.TrimSpace(contentOf(t, out)) != tt.want || resp.Summary.RepairList() != tt.repairs || string(resp.Summary.Structured.Result) != tt.result {
			t.Errorf("%s, whole: got %s, %v, repairs %q, %+v", tt.name, out, err, resp.Summary.RepairList(), resp.Summary.Structured)
		}
	}
}

// TestStructuredSaysWhatWentOut holds what becomes of an answer that is repaired and nevertheless
// refused: it goes out as far as it was repaired, however it was cut and whether it is streamed, and
// what was changed is named.
func TestStructuredSaysWhatWentOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want, repairs string }{
		{"a type, and a member too much", `{"city": "Oslo", "degrees": "3", "x": 1}`, `{"city": "Oslo", "degrees": 3, "x": 1}`, "answer_types=1"},
		{"a fence, and a member is missing", "```json\n{\"city\": \"Oslo\"}\n```", `{"city": "Oslo"}`, "answer_fence=1"},
		{"a word of Python's where none may be", `{"city": "Oslo", "degrees": None}`, `{"city": "Oslo", "degrees": null}`, "answer_json=1"},
		{"quotes, and one too much", `{'city': 'O'slo', 'degrees': 3}`, `{"city": "O"slo', 'degrees': 3}`, "answer_json=1"},
		{"a fence, and a key twice", "```json\n{\"city\": \"Oslo\", \"city\": \"Bergen\"}\n```", "{\"city\": \"Oslo\", \"city\": \"Bergen\"}\n```", "answer_fence=1"},
		{"two that differ", `{"city": "Oslo", "degrees": 3} {"city": "Bergen", "degrees": 4}`, `{"city": "Oslo", "degrees": 3} {"city": "Bergen", "degrees": 4}`, ""},
	} {
		for _, pieces := range [][]string{strings.Split(tt.text, ""), {tt.text[:len(tt.text)/2], tt.text[len(tt.text)/2:]}, {tt.text}} {
			out, resp, err := exchange(t, stream("stop", pieces...), structuredTarget(gateway.PassInvalid), structured)
			if got := join(t, out).content; err != nil || got != tt.want || resp.Summary.RepairList() != tt.repairs || resp.Summary.Structured.Result != gateway.StructuredInvalid {
				t.Errorf("%s, in %d pieces: got %q, %v, repairs %q, %+v", tt.name, len(pieces), got, err, resp.Summary.RepairList(), resp.Summary.Structured)
			}
		}
		out, resp, err := exchange(t, whole(tt.text, "stop"), structuredTarget(gateway.PassInvalid), asWhole(structured))
		if err != nil || contentOf(t, out) != tt.want || resp.Summary.RepairList() != tt.repairs || resp.Summary.Structured.Result != gateway.StructuredInvalid {
			t.Errorf("%s, whole: got %s, %v, repairs %q, %+v", tt.name, out, err, resp.Summary.RepairList(), resp.Summary.Structured)
		}
	}
}

// TestStructuredNamesWhatItReleases holds that what was repaired of an answer is named, also where it
// is then cut or turns into a call.
func TestStructuredNamesWhatItReleases(t *testing.T) {
	t.Parallel()
	const text, want = `{'city': 'Oslo', 'deg`, `{"city": "Oslo", 'deg`
	out, resp, err := exchange(t, stream("length", strings.Split(text, "")...), structuredTarget(gateway.PassInvalid), structured)
	if got := join(t, out).content; err != nil || got != want || resp.Summary.RepairList() != "answer_json=1" || resp.Summary.Structured.Result != gateway.StructuredCut {
		t.Errorf("got %q, %v, repairs %q, %+v", got, err, resp.Summary.RepairList(), resp.Summary.Structured)
	}
	out, resp, err = exchange(t, whole(text, "length"), structuredTarget(gateway.PassInvalid), asWhole(structured))
	if err != nil || contentOf(t, out) != want || resp.Summary.RepairList() != "answer_json=1" || resp.Summary.Structured.Result != gateway.StructuredCut {
		t.Errorf("whole: got %s, %v, repairs %q, %+v", out, err, resp.Summary.RepairList(), resp.Summary.Structured)
	}
	in := stream("tool_calls", `{'city': `, `'Oslo'`)
	in.blocks = append(in.blocks[:3], entry(`"index":0,"id":"a","type":"function","function":{"name":"get_time","arguments":"{}"}`), block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
	_, resp, err = exchange(t, in, structuredTarget(gateway.PassInvalid), strings.TrimSuffix(structured, "}")+`,"tools":[{"type":"function","function":{"name":"get_time"}}]}`)
	if err != nil || resp.Summary.RepairList() != "answer_json=1" || resp.Summary.Structured.Result != gateway.StructuredCalled {
		t.Errorf("called: got %v, repairs %q, %+v", err, resp.Summary.RepairList(), resp.Summary.Structured)
	}
}

// contentOf is the text of a whole answer.
func contentOf(t *testing.T, out string) string {
	t.Helper()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Choices) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return answer.Choices[0].Message.Content
}

// TestStructuredLeavesAlone holds where no JSON is demanded: calls, refusals, answers that are cut,
// and answers of several choices, each for itself.
func TestStructuredLeavesAlone(t *testing.T) {
	t.Parallel()
	withTools := strings.TrimSuffix(structured, "}") + `,"tools":[{"type":"function","function":{"name":"get_time"}}]}`
	call := stream("tool_calls", "Let me see.")
	call.blocks = append(call.blocks[:2], entry(`"index":0,"id":"a","type":"function","function":{"name":"get_time","arguments":"{}"}`), block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
	refusal := stream("stop")
	refusal.blocks = append(refusal.blocks[:1], block(0, `"delta":{"refusal":"I won't"}`), finish("stop"), done)
	for _, tt := range []struct {
		name   string
		in     *scripted
		body   string
		policy gateway.InvalidPolicy
		result gateway.StructuredResult
	}{
		{"a call beside text", call, withTools, gateway.PassInvalid, gateway.StructuredCalled},
		{"a call beside text, strict", call, withTools, gateway.RejectInvalid, gateway.StructuredCalled},
		{"a refusal", refusal, structured, gateway.RejectInvalid, gateway.StructuredRefused},
		{"cut", stream("length", `{"city": "Os`), structured, gateway.RejectInvalid, gateway.StructuredCut},
		{"cut with a comma", stream("length", `{"city": "Oslo",`), structured, gateway.PassInvalid, gateway.StructuredCut},
		{"a filter", stream("content_filter", `{"city": "Os`), structured, gateway.ReaskInvalid, gateway.StructuredCut},
		{"a filter in prose", stream("content_filter", `Well`), structured, gateway.ReaskInvalid, gateway.StructuredCut},
	} {
		out, resp, err := exchange(t, tt.in, structuredTarget(tt.policy), tt.body)
		if err != nil || out != tt.in.raw() {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tt.name, err, out, tt.in.raw())
			continue
		}
		if s := resp.Summary.Structured; s == nil || s.Result != tt.result || len(resp.Summary.Faults) > 0 {
			t.Errorf("%s: got %+v, faults %q, want %s", tt.name, s, resp.Summary.FaultList(), tt.result)
		}
	}

	two := &scripted{whole: true, blocks: []string{`{"choices":[{"index":0,"message":{"content":"{\"city\":\"Oslo\",\"degrees\":1}"},"finish_reason":"stop"},` +
		`{"index":0,"message":{"content":"Sure: {\"city\":\"Oslo\",\"degrees\":2}"},"finish_reason":"stop"},{"index":0,"message":{"content":"{\"city\":\"Oslo\"}"},"finish_reason":"stop"}]}`}}
	out, resp, err := exchange(t, two, structuredTarget(gateway.PassInvalid), asWhole(structured))
	if want := strings.Replace(two.blocks[0], "Sure: ", "", 1); err != nil || out != want {
		t.Errorf("three choices: got %v\n%s\nwant\n%s", err, out, want)
	}
	if s := resp.Summary; s.Structured.Result != gateway.StructuredInvalid || s.FaultList() != "answer_json=1,answer_schema=1" {
		t.Errorf("three choices: got %+v, %s", s.Structured, s.FaultList())
	}
	_, _, err = exchange(t, two, structuredTarget(gateway.RejectInvalid), asWhole(structured))
	if e := gateway.AsError(err); e.Param != "choices[2].message.content: degrees" {
		t.Errorf("three choices: got the place %q", e.Param)
	}
}

// TestStructuredIsNoCall holds that JSON of the very schema that a request asks for is its answer, also
// where it reads like a call of a tool that is offered as well; all else that does is a call.
func TestStructuredIsNoCall(t *testing.T) {
	t.Parallel()
	const tool = `,"tools":[{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{"zone":{"type":"string"}},"required":["zone"]}}}]`
	const ask = `{"model":"m","stream":true,"messages":[]`
	format := func(schema string) string {
		return ask + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + schema + `}}` + tool + `}`
	}
	plan := `{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]}`
	const named, call = `{"get_time": {"zone": "UTC"}}`, `{"name": "get_time", "arguments": {"zone": "UTC"}}`
	for _, tt := range []struct {
		name, text, body string
		called           bool
	}{
		{"a plan", call, format(plan), false},
		{"a plan in a fence", "```json\n" + call + "\n```", format(plan), false},
		{"plans", "[" + call + "]", format(`{"type":"array","items":` + plan + `}`), false},
		{"a member with the tool's name", named, format(`{"type":"object","properties":{"get_time":{"type":"object"}}}`), false},
		{"another schema", call, format(answerSchema), true},
		{"a schema that says nothing", call, format(`{"type":"object"}`), true},
		{"a schema of other members", named, format(`{"type":"object","properties":{"city":{"type":"string"}}}`), true},
		{"a call is demanded", call, strings.TrimSuffix(format(plan), "}") + `,"tool_choice":"required"}`, true},
		{"no format", call, ask + tool + "}", true},
	} {
		target := structuredTarget(gateway.PassInvalid)
		target.Parsers = gateway.ParserSpec{Auto: true}
		check := func(way, out string, resp *gateway.Response, err error) {
			t.Helper()
			warned := slices.Contains(resp.Summary.Warnings, "call_quoted")
			if err != nil || resp.Summary.Calls > 0 != tt.called || strings.Contains(out, `"tool_calls"`) != tt.called || warned == tt.called {
				t.Errorf("%s, %s: got %v, %d calls, warnings %q, %s", tt.name, way, err, resp.Summary.Calls, resp.Summary.Warnings, out)
			}
		}
		for _, size := range []int{1, 7, len(tt.text)} {
			var texts []string
			for piece := range slices.Chunk([]byte(tt.text), size) {
				texts = append(texts, string(piece))
			}
			out, resp, err := exchange(t, stream("stop", texts...), target, tt.body)
			check("streamed", out, resp, err)
		}
		out, resp, err := exchange(t, whole(tt.text, "stop"), target, asWhole(tt.body))
		check("whole", out, resp, err)
	}
}

// TestStructuredReasoning holds that what the model thinks is no part of the JSON, also where it has
// some.
func TestStructuredReasoning(t *testing.T) {
	t.Parallel()
	const good = `{"city": "Oslo", "degrees": 3}`
	text := `<think>Maybe {"city": "Bergen", "degrees": 4}?</think>` + "```json\n" + good + "\n```"
	for _, policy := range []gateway.InvalidPolicy{gateway.PassInvalid, gateway.RejectInvalid} {
		target := structuredTarget(policy)
		target.Parsers, target.Reasoning = gateway.ParserSpec{Auto: true, Reasoning: true}, chain.Auto
		for size := 1; size <= len(text); size += 3 {
			var texts []string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				texts, rest = append(texts, rest[:n]), rest[n:]
			}
			out, resp, err := exchange(t, stream("stop", texts...), target, structured)
			if err != nil {
				t.Fatal(err)
			}
			m := join(t, out)
			if m.content != good || !strings.Contains(m.reasoning, "Bergen") || m.finish != "stop" || resp.Summary.Structured.Result != gateway.StructuredRepaired {
				t.Errorf("in pieces of %d: got %+v, %+v", size, m, resp.Summary.Structured)
			}
		}
	}
}

// TestStructuredTooLong holds that an answer which is too long to be checked goes out as it came, or is
// refused where it had to be good.
func TestStructuredTooLong(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("It rains. ", 8<<10)
	var texts []string
	for range 60 {
		texts = append(texts, piece)
	}
	in := stream("stop", texts...)
	out, resp, err := exchange(t, in, structuredTarget(gateway.PassInvalid), structured)
	if err != nil || out != in.raw() || resp.Summary.Structured.Result != gateway.StructuredUnchecked || strings.Join(resp.Summary.Warnings, ",") != "structured_unchecked" {
		t.Errorf("got %v, %d bytes of %d, %+v, %q", err, len(out), len(in.raw()), resp.Summary.Structured, resp.Summary.Warnings)
	}
	if _, _, err = exchange(t, in, structuredTarget(gateway.ReaskInvalid), structured); gateway.AsError(err).Kind != gateway.BadAnswer {
		t.Errorf("got %v", err)
	}
	if _, _, err = exchange(t, whole(strings.Join(texts, ""), "stop"), structuredTarget(gateway.RejectInvalid), asWhole(structured)); gateway.AsError(err).Kind != gateway.BadAnswer {
		t.Errorf("whole: got %v", err)
	}
}

// TestStructuredGoesOutAsItComes counts the blocks of a stream that wait: one, where a comma may be a
// slip.
func TestStructuredGoesOutAsItComes(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"", "```json\n"} {
		text := head + `{"city": "A very long name of a city", "degrees": 12345}`
		in := &asking{scripted: stream("stop", strings.Split(text, "")...)}
		resp := open(t, in, structuredTarget(gateway.PassInvalid), structured)
		defer resp.Close()
		given, most := 0, 0
		for f, err := resp.Next(); err == nil; f, err = resp.Next() {
			if f == nil {
				continue
			}
			given++
			if waits := in.asked - given; in.asked > len(head)+len(`{"city":`)+2 && in.asked < len(text) {
				most = max(most, waits)
			}
		}
		// Of what follows the opened value, a comma waits with the white space behind it, and the
		// frames that held the fence are one with the first of the value.
		if most > 2 {
			t.Errorf("%q: %d frames wait", head, most)
		}
	}
}

// asking is a provider that says how many blocks were asked of its answer.
type asking struct {
	*scripted
	asked int
}

func (c *asking) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return &askingReply{reply{scripted: c.scripted}, c}, nil
}

type askingReply struct {
	reply
	of *asking
}

func (r *askingReply) Next() (*gateway.Frame, error) {
	r.of.asked++
	return r.reply.Next()
}

// TestStructuredReask holds that the model is told once what is wrong with its answer, and where.
func TestStructuredReask(t *testing.T) {
	t.Parallel()
	bad := turn{blocks: stream("stop", `{"city": `, `"Oslo"}`).blocks}
	good := turn{blocks: stream("stop", `{"city":"Oslo","degrees":3}`).blocks}
	for _, tt := range []struct {
		policy gateway.InvalidPolicy
		turns  []turn
		want   string
		code   string
	}{
		{gateway.ReaskInvalid, []turn{bad, good}, "a first invalid_structured_output; a reask ok", ""},
		{gateway.ReaskInvalid, []turn{bad, bad}, "a first invalid_structured_output; a reask invalid_structured_output", "invalid_structured_output"},
		{gateway.RejectInvalid, []turn{bad, good}, "a first invalid_structured_output", "invalid_structured_output"},
	} {
		p := (&play{actors: map[string]*actor{"a": acts(tt.turns...)}, target: structuredTarget(tt.policy)}).start(t)
		o := p.askBody(t, structured)
		code := ""
		if o.err != nil {
			code = o.err.CodeOrDefault()
			if o.err.Param != "choices[0].message.content: degrees" || !strings.Contains(o.err.Message, "degrees: it is required and missing") {
				t.Errorf("got the error %q at %q", o.err.Message, o.err.Param)
			}
		}
		if o.steps() != tt.want || code != tt.code {
			t.Errorf("got %s, %q, want %s, %q", o.steps(), code, tt.want, tt.code)
		}
		if bodies := p.actors["a"].bodies; len(bodies) > 1 && !strings.Contains(bodies[1], `Your answer was not accepted: The answer does not fit the schema: degrees: it is required and missing.`) {
			t.Errorf("the model is told %s", bodies[1])
		}
		if tt.code == "" && (!strings.Contains(o.out, "corrections=answer_schema") || strings.Contains(o.out, `Oslo\"}"`)) {
			t.Errorf("the client gets %s", o.out)
		}
		p.checkDone(t)
	}
}

// TestStructuredCostsNothing counts what a request that wants no JSON allocates beyond the same where
// nobody looks.
func TestStructuredCostsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts allocations")
	}
	run := func(target gateway.Target) float64 {
		in := stream("stop", "Hi ", "there.")
		p := (&play{actors: map[string]*actor{"a": acts(turn{blocks: in.blocks})}, target: target}).start(t)
		least := math.Inf(1)
		for range 100 { // the race detector has pools lose some of what they are given
			least = min(least, testing.AllocsPerRun(1, func() { p.askBody(t, request) }))
		}
		return least
	}
	off := structuredTarget(gateway.PassInvalid)
	off.Structured = gateway.Off
	without, with := run(off), run(structuredTarget(gateway.ReaskInvalid))
	if with > without+0.5 {
		t.Errorf("got %v allocations, want %v", with, without)
	}
}

// askBody sends a body and reads the answer to its end.
func (p *play) askBody(t *testing.T, body string) outcome {
	t.Helper()
	return p.ask(t, t.Context(), func(r *gateway.Request) {
		other, err := gateway.ParseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		*r = *other
	})
}

// TestStructuredObject holds that an answer whose content is the object itself, and not its text, becomes that text, as
// clients read it. Cloudflare's Workers AI answers so (the request and the answer are from chatlas 0.23.0's tests).
func TestStructuredObject(t *testing.T) {
	t.Parallel()
	const (
		request = `{"messages": [{"content": [{"type": "text", "text": "Generate the name and age of a random person."}], "role": "user"}], "model": "m", "response_format": {"type": "json_schema", "json_schema": {"name": "structured_data", "description": "", "schema": {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"], "type": "object", "additionalProperties": false}, "strict": true}}, "seed": 1014, "stream": false}`
		before  = `{"id":"id-1767213411249","object":"chat.completion","created":1767213411,"model":"@cf/meta/llama-3.3-70b-instruct-fp8-fast","choices":[{"index":0,"message":{"role":"assistant","content":`
		behind  = `,"refusal":null},"logprobs":null,"finish_reason":"stop"}]}`
		value   = `{"name":"Emily \"Em\" Wilson","age":32}`
		text    = `"{\"name\":\"Emily \\\"Em\\\" Wilson\",\"age\":32}"`
	)
	out, resp, err := exchange(t, &scripted{whole: true, blocks: []string{before + value + behind}}, structuredTarget(gateway.PassInvalid), request)
	if s := resp.Summary; err != nil || out != before+text+behind || s.Structured.Result != gateway.StructuredRepaired || s.RepairList() != "answer_object=1" || s.FaultList() != "answer_json=1" {
		t.Errorf("got %s, %v, %+v, repairs %s, faults %s", out, err, s.Structured, s.RepairList(), s.FaultList())
	}
	bad := `{"name":"Emily"}`
	for _, policy := range []gateway.InvalidPolicy{gateway.PassInvalid, gateway.RejectInvalid} {
		out, resp, err = exchange(t, &scripted{whole: true, blocks: []string{before + bad + behind}}, structuredTarget(policy), request)
		if refused := gateway.AsError(err); policy == gateway.RejectInvalid && (err == nil || refused.Kind != gateway.BadAnswer) {
			t.Errorf("got %s, %v, want that it is refused", out, err)
		} else if policy == gateway.PassInvalid && (err != nil || out != before+`"{\"name\":\"Emily\"}"`+behind || resp.Summary.Structured.Result != gateway.StructuredInvalid) {
			t.Errorf("got %s, %v, want it as a text, and that it is invalid", out, err)
		}
	}
}
