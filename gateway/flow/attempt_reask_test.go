package flow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/callgate/callgate/gateway"
)

// TestReask holds that the model is told once what is wrong with its call, at the same
// target, and that the client hears of what was thrown away.
func TestReask(t *testing.T) {
	t.Parallel()
	bad := turn{blocks: blocksOf("get_weather", `{\"city\": 7}`, 5).blocks}
	good := turn{blocks: blocksOf("get_weather", `{\"city\": \"Oslo\"}`, 5).blocks}
	for _, tt := range []struct {
		name     string
		turns    []turn
		want     string
		code     string
		faults   string
		messages int // in the last request
	}{
		{"the model mends it", []turn{bad, good}, "a first invalid_tool_call; a reask ok", "", "schema_mismatch=1", 1},
		{"the model does not call again", []turn{bad, {}}, "a first invalid_tool_call; a reask ok", "", "schema_mismatch=1", 1},
		{"the model repeats it", []turn{bad}, "a first invalid_tool_call; a reask invalid_tool_call", "invalid_tool_call", "schema_mismatch=2", 1},
		{"a failure between", []turn{{err: unavailable}, bad, good}, "a first upstream_error; a retry ~1s invalid_tool_call; a reask ok", "", "schema_mismatch=1", 1},
		{"a failure behind", []turn{bad, {err: unavailable}, good}, "a first invalid_tool_call; a reask upstream_error; a retry ~1s ok", "", "schema_mismatch=1", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := (&play{actors: map[string]*actor{"a": acts(tt.turns...)}, policies: map[string]gateway.Policy{"a": retries(3)},
					target: gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.ReaskInvalid}}).start(t)
				o := p.ask(t, t.Context())
				code, faults := "", o.summary.FaultList()
				if o.err != nil {
					code = o.err.CodeOrDefault()
				}
				if o.steps() != tt.want || code != tt.code || faults != tt.faults {
					t.Errorf("got %s, %q, faults %q\nwant %s, %q, faults %q", o.steps(), code, faults, tt.want, tt.code, tt.faults)
				}
				bodies := p.actors["a"].bodies
				var sent struct {
					Model    string
					Messages []struct{ Role, Content string }
				}
				if err := json.Unmarshal([]byte(bodies[len(bodies)-1]), &sent); err != nil || len(sent.Messages) != tt.messages {
					t.Fatalf("%v: the last request is %s", err, bodies[len(bodies)-1])
				}
				told := sent.Messages[len(sent.Messages)-1]
				for _, part := range []string{`Your call of the tool "get_weather" was not carried out`, "city: expected string, found integer", `You wrote these arguments: {"city": 7}`} {
					if told.Role != "user" || !strings.Contains(told.Content, part) {
						t.Errorf("the model is told %q, want %q in it", told.Content, part)
					}
				}
				p.checkDone(t)
			})
		})
	}
}

// TestReaskBehindAGoodCall holds that a bad call behind a good one that has been sent ends the stream with
// an error: nobody is asked again, or the client would have the good call twice.
func TestReaskBehindAGoodCall(t *testing.T) {
	t.Parallel()
	calls := blocksOf("get_weather", `{\"city\": \"Oslo\"}`, 5).blocks
	calls = append(calls[:len(calls)-2:len(calls)-2], entry(`"index":1,"id":"b","type":"function","function":{"name":"get_weather","arguments":"{\"city\": 7}"}`),
		block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
	p := (&play{actors: map[string]*actor{"a": acts(turn{blocks: calls})}, target: gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.ReaskInvalid}}).start(t)
	o := p.ask(t, t.Context())
	if len(p.actors["a"].bodies) != 1 || o.err == nil || o.err.CodeOrDefault() != "invalid_tool_call" || strings.Count(o.out, `"name":"get_weather"`) != 1 || strings.Contains(o.out, "[DONE]") {
		t.Errorf("asked %d times, got %v and %s", len(p.actors["a"].bodies), o.err, o.out)
	}
}

// TestReaskStaysWithTheModel holds that another model is not told of a call that it has not made, nor
// held to its tool: it gets the client's own request. The same model is told at another server too, and
// so is the first one if it is asked again.
func TestReaskStaysWithTheModel(t *testing.T) {
	t.Parallel()
	bad := turn{blocks: blocksOf("get_weather", `{\"city\": 7}`, 5).blocks}
	good := turn{blocks: blocksOf("get_weather", `{\"city\": \"Oslo\"}`, 5).blocks}
	for _, tt := range []struct {
		name       string
		models     map[string]string
		a, b       []turn
		want       string
		tellsA     []bool // whether the request tells of the call
		tellsB     []bool
		retriesAtA int
	}{
		{name: "another model", models: map[string]string{"a": "one", "b": "two"}, a: []turn{bad, {err: unavailable}}, b: []turn{good},
			want: "a first invalid_tool_call; a reask upstream_error; b fallback ok", tellsA: []bool{false, true}, tellsB: []bool{false}},
		{name: "the same model", models: map[string]string{"a": "one", "b": "one"}, a: []turn{bad, {err: unavailable}}, b: []turn{good},
			want: "a first invalid_tool_call; a reask upstream_error; b fallback ok", tellsA: []bool{false, true}, tellsB: []bool{true}},
		{name: "back again", models: map[string]string{"a": "one", "b": "two"}, a: []turn{bad, {err: unavailable}, good}, b: []turn{{err: unavailable}}, retriesAtA: 3,
			want: "a first invalid_tool_call; a reask upstream_error; b fallback upstream_error; a fallback ~1s ok", tellsA: []bool{false, true, true}, tellsB: []bool{false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := (&play{actors: map[string]*actor{"a": acts(tt.a...), "b": acts(tt.b...)}, models: tt.models, policies: map[string]gateway.Policy{"a": retries(tt.retriesAtA)},
					target: gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.ReaskInvalid}}).start(t)
				if o := p.ask(t, t.Context()); o.steps() != tt.want {
					t.Errorf("got %s, want %s", o.steps(), tt.want)
				}
				for name, tells := range map[string][]bool{"a": tt.tellsA, "b": tt.tellsB} {
					for i, want := range tells {
						body := p.actors[name].bodies[i]
						if told, pinned := strings.Contains(body, "was not carried out"), strings.Contains(body, `"tool_choice"`); told != want || pinned != want {
							t.Errorf("request %d of %s: got told %t, pinned %t, want %t: %s", i, name, told, pinned, want, body)
						}
					}
				}
				p.checkDone(t)
			})
		})
	}
}

// TestReaskKeepsMessages holds that the correction comes behind the client's messages,
// which stay as they are, and that a long call is quoted in part.
func TestReaskKeepsMessages(t *testing.T) {
	t.Parallel()
	p := (&play{actors: map[string]*actor{"a": acts(turn{blocks: blocksOf("get_weather", `{\"city\": [\"`+strings.Repeat("x", 1<<20)+`\"]}`, 1<<15).blocks}, turn{})},
		target: gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.ReaskInvalid}}).start(t)
	const messages = `[ {"role":"user","content":"Hi", "x":1.0} ]`
	req, err := gateway.ParseRequest([]byte(strings.Replace(request, `"messages":[]`, `"messages":`+messages, 1)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.gateway.Chat(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	body := p.actors["a"].bodies[1]
	if !strings.Contains(body, strings.TrimSuffix(messages, "]")+`,{"role":"user","content":"Your call`) || !json.Valid([]byte(body)) || len(body) > 10_000 {
		t.Errorf("%d bytes are sent: %.600s", len(body), body)
	}
}

// TestVendorMalformed holds that an answer whose call the upstream itself calls
// malformed is tried again, and counted.
func TestVendorMalformed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := (&play{actors: map[string]*actor{"a": acts(turn{blocks: stream("MALFORMED_FUNCTION_CALL").blocks}, turn{})}, policies: map[string]gateway.Policy{"a": retries(1)},
			target: gateway.Target{Mode: gateway.Repair}}).start(t)
		o := p.ask(t, t.Context())
		if o.steps() != "a first invalid_tool_call; a retry ~1s ok" || o.summary.FaultList() != "vendor_malformed=1" {
			t.Errorf("got %s, faults %s", o.steps(), o.summary.FaultList())
		}
		if !strings.Contains(o.out, "attempts=2") || !strings.Contains(o.out, "vendor_malformed=1") {
			t.Errorf("the client is not told: %s", o.out)
		}
	})
}
