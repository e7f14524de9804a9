package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
	"github.com/callgate/callgate/gateway/wire"
)

const tools = `,"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"},{"type":"custom","name":"patch"},{"type":"namespace","name":"fs","tools":[{"type":"function","name":"read"}]}]`

// output is the output of a response in short: types, texts, statuses.
func output(t testing.TB, response any) (list []string) {
	t.Helper()
	data, err := json.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	if raw, ok := response.([]byte); ok {
		data = raw
	}
	var r struct {
		Status string
		Output []struct {
			Type, Status, Name, Namespace, Arguments, Input string
			CallID                                          string `json:"call_id"`
			Summary                                         []struct{ Text string }
			Content                                         []struct{ Type, Text, Refusal string }
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Output {
		text := o.Type + " " + o.Namespace + o.Name + o.Arguments + o.Input
		for _, p := range o.Summary {
			text += p.Text
		}
		for _, p := range o.Content {
			text += p.Text + p.Refusal
		}
		if o.CallID != "" && strings.HasPrefix(o.CallID, "c") {
			text += " " + o.CallID
		}
		if o.Status != "completed" {
			text += " " + o.Status
		}
		list = append(list, text)
	}
	return append(list, r.Status)
}

// TestStreams looks at what becomes of streams of chunks. Each stream is judged.
func TestStreams(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		chunks []string
		want   []string
	}{
		{"text", []string{delta(`{"role":"assistant","content":""}`), delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`), finish("stop")}, []string{"message Hello", "completed"}},
		{"nothing", []string{finish("stop")}, []string{"completed"}},
		{"reasoning", []string{delta(`{"reasoning":"a"}`), delta(`{"reasoning":"b"}`), delta(`{"content":"c"}`), finish("stop")}, []string{"reasoning ab", "message c", "completed"}},
		{"reasoning in between", []string{delta(`{"content":"a"}`), delta(`{"reasoning_content":"b"}`), delta(`{"content":"c"}`), finish("stop")}, []string{"message a", "reasoning b", "message c", "completed"}},
		{"reasoning in parts of the content", []string{delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`), delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]}]}`), delta(`{"content":[{"type":"thinking","thinking":"c"},{"type":"text","text":"d"}]}`), delta(`{"content":"e"}`), finish("stop")}, []string{"reasoning abc", "message de", "completed"}},
		{"calls", []string{delta(call(0, "c0", "f", "")), delta(piece(0, "{}")), delta(call(1, "c1", "g", "")), delta(piece(1, "{")), delta(piece(1, "}")), finish("tool_calls")}, []string{"function_call f{} c0", "function_call g{} c1", "completed"}},
		{"calls at once", []string{delta(call(0, "c0", "f", "{")), delta(call(1, "c1", "g", "{")), delta(piece(0, `\"a\":1`)), delta(piece(1, `\"b\":2`)), delta(piece(0, `}`)), delta(piece(1, `}`)), finish("tool_calls")}, []string{`function_call f{"a":1} c0`, `function_call g{"b":2} c1`, "completed"}},
		{"text behind a call that is open", []string{delta(call(0, "c0", "f", "{")), delta(`{"content":"Hi"}`), delta(piece(0, "}")), finish("tool_calls")}, []string{"function_call f{} c0", "message Hi", "completed"}},
		{"a name that comes late", []string{delta(`{"tool_calls":[{"index":0,"id":"c0","function":{"arguments":"{"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"c0","function":{"name":"f","arguments":"}"}}]}`), finish("tool_calls")}, []string{"function_call f{} c0", "completed"}},
		{"custom", []string{delta(call(0, "c0", "patch", `{\"input\":`)), delta(piece(0, `\"*** a\\n\"}`)), finish("tool_calls")}, []string{"custom_tool_call patch*** a\n c0", "completed"}},
		{"custom of another form", []string{delta(call(0, "c0", "patch", `*** a`)), finish("tool_calls")}, []string{"custom_tool_call patch*** a c0", "completed"}},
		{"namespace", []string{delta(call(0, "c0", "fs__read", `{}`)), finish("tool_calls")}, []string{"function_call fsread{} c0", "completed"}},
		{"refusal", []string{delta(`{"content":"Well. "}`), delta(`{"refusal":"N"}`), delta(`{"refusal":"o"}`), finish("stop")}, []string{"message Well. No", "completed"}},
		{"cut text", []string{delta(`{"content":"a"}`), finish("length")}, []string{"message a incomplete", "incomplete"}},
		{"cut call", []string{delta(`{"content":"a"}`), delta(call(0, "c0", "f", "{")), finish("length")}, []string{"message a", "function_call f{ c0 incomplete", "incomplete"}},
		{"filtered", []string{delta(`{"content":"a"}`), finish("content_filter")}, []string{"message a incomplete", "incomplete"}},
		{"no finish reason", []string{delta(`{"content":"a"}`), "[DONE]"}, []string{"message a", "completed"}},
		{"function_call", []string{delta(`{"function_call":{"name":"f","arguments":""}}`), delta(`{"function_call":{"arguments":"{}"}}`), finish("function_call")}, []string{"function_call f{} call", "completed"}},
		{"another choice", []string{`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":null}]}`, delta(`{"content":"yes"}`), finish("stop")}, []string{"message yes", "completed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, out := chunks(t, parse(t, `{"model":"m","input":"x","stream":true`+tools+`}`), tt.chunks...)
			got := output(t, check(t, out).Final)
			for i := range got { // ids of our own differ
				if at := strings.Index(got[i], " call_"); at >= 0 {
					got[i] = got[i][:at+len(" call")]
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestPieces looks at the events of an answer with all there is.
func TestPieces(t *testing.T) {
	t.Parallel()
	_, out := chunks(t, parse(t, `{"model":"m","input":"x","stream":true`+tools+`}`),
		delta(`{"reasoning_content":"a"}`), delta(`{"reasoning_content":"b"}`), delta(`{"content":"c\u0041"}`), delta(`{"content":"d"}`),
		delta(call(0, "c0", "f", "")), delta(piece(0, "{")), delta(piece(0, "}")), delta(call(1, "c1", "patch", `{\"input\":\"x\"}`)), finish("tool_calls"),
		`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`, "[DONE]")
	s := check(t, out)
	want := strings.Fields(`created in_progress
		output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.delta reasoning_summary_text.done reasoning_summary_part.done output_item.done
		output_item.added content_part.added output_text.delta output_text.delta output_text.done content_part.done output_item.done
		output_item.added function_call_arguments.delta function_call_arguments.delta function_call_arguments.done output_item.done
		output_item.added custom_tool_call_input.delta custom_tool_call_input.done output_item.done completed`)
	for i := range want {
		want[i] = "response." + want[i]
	}
	if !slices.Equal(s.Events, want) {
		t.Errorf("got the events %q", s.Events)
	}
	if !bytes.Contains(out, []byte(`"delta":"c\u0041"`)) {
		t.Errorf("got a text that is spelled anew in %s", out)
	}
	usage, _ := json.Marshal(s.Final["usage"])
	if string(usage) != `{"input_tokens":10,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":15}` || s.Final["model"] != "m-1" {
		t.Errorf("got the usage %s of %v", usage, s.Final["model"])
	}
}

// TestDroppedMembers wants a word of sounds and pictures, for which a response has no place.
func TestDroppedMembers(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]string{
		`"audio":{"id":"audio_1","transcript":"x"}`: "audio_dropped", `"audio":null`: "", `"images":[]`: "",
		`"images":[{"type":"image_url"}]`: "image_dropped", `"executed_tools":[{"index":0,"type":"search"}]`: "executed_tools_dropped",
		`"content":"x","context":{"citations":[1]}`:                                                       "dropped:answer.message.context",
		`"content":[{"type":"text","text":"x"},{"type":"reference","reference_ids":[1]},{"type":"text"}]`: "part_dropped:reference",
	} {
		sum, out := chunks(t, parse(t, `{"model":"m","input":"x","stream":true}`), delta(`{"content":"a",`+member+`}`), finish("stop"))
		check(t, out)
		if got := strings.Join(sum.Warnings, " "); got != want {
			t.Errorf("%s: got the warnings %q, want %q", member, got, want)
		}
	}
}

// TestCallWithoutFunction wants a word of a call in a form that is not read: a custom tool that nobody has asked for.
func TestCallWithoutFunction(t *testing.T) {
	t.Parallel()
	sum, out := chunks(t, parse(t, `{"model":"m","input":"x","stream":true}`), delta(`{"tool_calls":[{"index":0,"id":"call_1","type":"custom","custom":{"name":"patch","input":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"custom":{"input":"x"}}]}`), delta(`{"content":"a"}`), finish("tool_calls"))
	check(t, out)
	if !slices.Equal(sum.Warnings, []string{"call_dropped:no_name"}) {
		t.Errorf("got the warnings %q", sum.Warnings)
	}
}

// TestAnnotations wants the places that a text is from with the text, and a word of what a response has no place for.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	const note = `"annotations":[{"type":"url_citation","url_citation":{"url":"http://x","title":"X","start_index":0,"end_index":1}},{"type":"other","n":1.0}]`
	const want = `"annotations":[{"type":"url_citation","url":"http://x","title":"X","start_index":0,"end_index":1},{"type":"other","n":1.0}]`
	sum, out := chunks(t, parse(t, `{"model":"m","input":"x","stream":true}`), delta(`{"content":"a"}`), delta(`{`+note+`}`), delta(`{"content":"b"}`), finish("stop"), delta(`{`+note+`}`))
	if s := check(t, out); !s.Has("response.output_text.annotation.added") || !bytes.Contains(out, []byte(`"text":"ab",`+want)) {
		t.Errorf("got %s", out)
	}
	if !slices.Equal(sum.Warnings, []string{"annotation_dropped"}) {
		t.Errorf("got the warnings %q, want one of what came behind the text", sum.Warnings)
	}
	second := strings.Replace(delta(`{"content":"z"}`), `"index":0`, `"index":1`, 1)
	if sum, _ := chunks(t, parse(t, `{"model":"m","input":"x","stream":true}`), delta(`{"content":"a"}`), second, finish("stop")); !slices.Equal(sum.Warnings, []string{"choice_dropped"}) {
		t.Errorf("got the warnings %q, want one of the second choice", sum.Warnings)
	}
	if got := whole(t, parse(t, `{"model":"m","input":"x"}`), `{"choices":[{"index":0,"message":{`+note+`,"content":"ab"},"finish_reason":"stop"}]}`); !bytes.Contains(got, []byte(`"text":"ab",`+want)) {
		t.Errorf("got %s", got)
	}
}

// TestAllowed wants no call of a tool that tool_choice does not allow.
func TestAllowed(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"model":"m","input":"x","tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}}`)
	sum, out := chunks(t, r, delta(call(0, "c0", "g", "{")), delta(piece(0, "}")), delta(call(1, "c1", "f", "{}")), delta(call(2, "c2", "made_up", "{}")), finish("tool_calls"))
	if got, want := output(t, check(t, out).Final), []string{"function_call f{} c1", "completed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"call_dropped:g", "call_dropped:made_up"}; !slices.Equal(sum.Warnings, want) {
		t.Errorf("got the warnings %q, want %q", sum.Warnings, want)
	}
}

// TestSealed wants reasoning, and what a provider has signed in it, back as it came, from the
// client that it was given to alone.
func TestSealed(t *testing.T) {
	t.Parallel()
	const include = `,"include":["reasoning.encrypted_content"],"store":false`
	r := parse(t, `{"model":"m","input":"x"`+include+`}`)
	_, out := chunks(t, r, delta(`{"reasoning_content":"a\n"}`), delta(`{"reasoning_content":"b","reasoning_details":[{"type":"reasoning.text","text":"a\n","index":0}]}`),
		delta(`{"reasoning_details":[{"type":"reasoning.text","text":"b","signature":"s=","index":0},{"type":"reasoning.encrypted","data":"zz","index":1}]}`),
		delta(`{"content":"c"}`), finish("stop"))
	final := check(t, out).Final
	items, err := json.Marshal(final["output"])
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(items, []byte("signature")) || !bytes.Contains(items, []byte(`"encrypted_content":"cg1.`)) {
		t.Fatalf("got %s, want it sealed", items)
	}
	next := func(model, tenant string) (string, []string) {
		r, err := responses.Parse([]byte(`{"model":"`+model+`","input":`+string(items)+include+`}`), responses.Options{Sealer: sealer, Tenant: tenant})
		if err == nil {
			err = r.Translate()
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Chat()), r.Warnings()
	}
	chat, warnings := next("m", "t")
	want := `{"model":"m","messages":[{"role":"assistant","reasoning_content":"a\nb","reasoning_details":[{"type":"reasoning.text","text":"a\nb","index":0,"signature":"s="},{"type":"reasoning.encrypted","data":"zz","index":1}],"content":"c"}]}`
	if chat != want || len(warnings) > 0 {
		t.Errorf("got  %s, %q\nwant %s", chat, warnings, want)
	}
	for _, other := range [][2]string{{"m2", "t"}, {"m", "t2"}, {"m", ""}} {
		if chat, warnings := next(other[0], other[1]); strings.Contains(chat, "reasoning") || !slices.Equal(warnings, []string{"item_dropped:reasoning"}) {
			t.Errorf("got %s, %q for the model and tenant %q, want nothing of the reasoning", chat, warnings, other)
		}
	}
}

// TestSealedBehindCall has thoughts of which a part comes behind the call that it belongs to, as Gemini's signatures do:
// both go back in the message that has the call.
func TestSealedBehindCall(t *testing.T) {
	t.Parallel()
	const include = `,"include":["reasoning.encrypted_content"],"store":false,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`
	r := parse(t, `{"model":"m","input":"x"`+include+`}`)
	_, out := chunks(t, r, delta(`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}`),
		delta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`),
		delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"zz","id":"c1","index":0}]}`), finish("tool_calls"))
	items, err := json.Marshal(check(t, out).Final["output"])
	if err != nil {
		t.Fatal(err)
	}
	input := strings.TrimSuffix(string(items), "]") + `,{"type":"function_call_output","call_id":"c1","output":"y"}]`
	next, err := responses.Parse([]byte(`{"model":"m","input":`+input+include+`}`), responses.Options{Sealer: sealer, Tenant: "t"})
	if err == nil {
		err = next.Translate()
	}
	if err != nil {
		t.Fatal(err)
	}
	want := `"messages":[{"role":"assistant","reasoning_content":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.encrypted","data":"zz","id":"c1","index":0}],` +
		`"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"y"}]`
	if chat := string(next.Chat()); !strings.Contains(chat, want) {
		t.Errorf("got  %s\nwant %s", chat, want)
	}
}

// TestFailures looks at errors before and behind the first event, of the gateway's own and of
// upstreams.
func TestFailures(t *testing.T) {
	t.Parallel()
	failure := &gateway.Error{Kind: gateway.Unavailable, Message: "It broke."}
	request := parse(t, `{"model":"m","input":"x","stream":true}`)
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		out := request.Writer(response(true)).Fail(nil, failure)
		s := check(t, out)
		if s.Final != nil || s.Error["message"] != "It broke." || s.Error["code"] != "upstream_error" || s.Error["param"] != nil {
			t.Errorf("got %v", s.Error)
		}
	})
	t.Run("pings alone", func(t *testing.T) {
		t.Parallel()
		if s := check(t, responses.Form.Fail([]byte(": ping\n\n"), failure, "")); s.Error["message"] != "It broke." {
			t.Errorf("got %v", s.Error)
		}
	})
	t.Run("behind", func(t *testing.T) {
		t.Parallel()
		resp := response(true)
		w := request.Writer(resp)
		data := []byte(delta(`{"content":"a"}`))
		out, err := w.Frame(nil, &wire.Frame{Raw: data, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		s := check(t, w.Fail(out, &gateway.Error{Kind: gateway.RateLimited, Message: "Slowly."}))
		if e, _ := s.Final["error"].(map[string]any); s.Final["status"] != "failed" || e["message"] != "Slowly." || e["code"] != "rate_limit_exceeded" {
			t.Errorf("got %v", s.Final["error"])
		}
		if more, err := w.Close(nil); len(more) > 0 || err != nil {
			t.Errorf("got %q, %v behind the end", more, err)
		}
	})
	t.Run("the upstream's", func(t *testing.T) {
		t.Parallel()
		_, out := chunks(t, request, delta(`{"content":"a"}`), `{"error":{"message":"Out of memory.","code":"oom"}}`, delta(`{"content":"b"}`), "[DONE]")
		s := check(t, out)
		if e, _ := s.Final["error"].(map[string]any); e["message"] != "Out of memory." || e["code"] != "server_error" || fmt.Sprint(e["callgate"]) != "map[code:oom]" {
			t.Errorf("got %v", s.Final["error"])
		}
	})
	t.Run("the upstream's as a text", func(t *testing.T) {
		t.Parallel()
		_, out := chunks(t, request, delta(`{"content":"a"}`), `{"error":"Broken."}`)
		if e, _ := check(t, out).Final["error"].(map[string]any); e["message"] != "Broken." {
			t.Errorf("got %v", e)
		}
	})
	t.Run("a refusal's own words", func(t *testing.T) {
		t.Parallel()
		e := &gateway.Error{Kind: gateway.Rejected, Message: "m", Body: []byte(`{"error":{"message":"Too long.","type":"invalid_request_error","code":"context_length_exceeded","param":"messages"}}`)}
		want := `{"error":{"message":"Too long.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`
		if got := string(responses.Form.Error(e, "", nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("a call that goes on behind its end", func(t *testing.T) {
		t.Parallel()
		_, out := chunks(t, request, delta(call(0, "c0", "f", "{}")), delta(call(1, "c1", "g", "{")), delta(piece(0, " ")), delta(piece(0, "{}")))
		if s := check(t, out); s.Final["status"] != "failed" {
			t.Errorf("got %v, want a failure", s.Final["status"])
		}
	})
}

// TestManyPiecesWait holds that pieces which wait behind a call that does not end are bounded in number too.
func TestManyPiecesWait(t *testing.T) {
	t.Parallel()
	w := parse(t, `{"model":"m","input":"x","stream":true,"tools":[{"type":"function","name":"f"}]}`).Writer(response(true))
	put := func(chunk string) error {
		_, err := w.Frame(nil, &wire.Frame{Raw: []byte(chunk), Data: []byte(chunk)})
		return err
	}
	err := put(delta(call(0, "c", "f", "{")))
	for i := 0; err == nil; i++ {
		if i == 100_000 {
			t.Fatal("100,000 thoughts and texts wait behind a call")
		}
		if err = put(delta(`{"reasoning_content":"a"}`)); err == nil {
			err = put(delta(`{"content":"b"}`))
		}
	}
	if e := gateway.AsError(err); e.CodeOrDefault() != "answer_too_large" {
		t.Errorf("got %v", err)
	}
}

// TestSave wants a response stored before the client knows that it is over, and no answer where
// that fails.
func TestSave(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			var saved []responses.Result
			r := parse(t, fmt.Sprintf(`{"model":"m","input":"x","stream":%t}`, stream))
			r.Stored = true
			r.Save = func(res responses.Result) error { saved = append(saved, res); return nil }
			thought := `"reasoning_content":"t","reasoning_details":[{"type":"reasoning.encrypted","data":"zz"}]`
			var final responsestest.Object
			var err error
			if stream {
				_, out := chunks(t, r, delta(`{`+thought+`}`), delta(`{"content":"a"}`), finish("stop"), "[DONE]")
				final = check(t, out).Final
			} else {
				final, err = responsestest.CheckResponse(whole(t, r, `{"choices":[{"index":0,"message":{`+thought+`,"content":"a"},"finish_reason":"stop"}]}`))
			}
			if err != nil || len(saved) != 1 || saved[0].ID != r.ID() || saved[0].ID != final["id"] || saved[0].Status != "completed" || len(saved[0].Items) != 2 || final["store"] != true {
				t.Fatalf("got %+v saved of %v, %v", saved, final, err)
			}
			one, err := responsestest.CheckResponse(saved[0].Response)
			if err != nil || !reflect.DeepEqual(one, final) {
				t.Errorf("got %v saved, want %v; %v", one, final, err)
			}
			if item := saved[0].Items[0]; item.Type != "reasoning" || !bytes.Contains(item.JSON, []byte(`"encrypted_content":"cg1.`)) || bytes.Contains(saved[0].Response, []byte("cg1.")) {
				t.Errorf("got %s in %s, want the thoughts of the provider stored, and not shown", item.JSON, saved[0].Response)
			}
			broken := &gateway.Error{Kind: gateway.Internal, Message: "The store is full."}
			r = parse(t, fmt.Sprintf(`{"model":"m","input":"x","stream":%t}`, stream))
			r.Save = func(responses.Result) error { return broken }
			if stream {
				_, out := chunks(t, r, delta(`{"content":"a"}`), finish("stop"))
				if s := check(t, out); s.Final["status"] != "failed" || s.Has("response.completed") {
					t.Errorf("got %q, want a failure", s.Events)
				}
				return
			}
			data := []byte(`{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`)
			if _, err := r.Writer(response(false)).Whole(&wire.Frame{Data: data, Whole: true}); !errors.Is(err, broken) {
				t.Errorf("got %v, want the store's error", err)
			}
		})
	}
}

// TestWholeStreamed wants events of an answer that came whole.
func TestWholeStreamed(t *testing.T) {
	t.Parallel()
	data := []byte(`{"choices":[{"index":0,"message":{"content":"a","tool_calls":[{"id":"c0","function":{"name":"f","arguments":"{}"}},{"id":"c1","function":{"name":"g","arguments":{"x":1}}}],"reasoning_content":"r"},"finish_reason":"tool_calls"}]}`)
	w := parse(t, `{"model":"m","input":"x","stream":true`+tools+`}`).Writer(response(false))
	out, err := w.Frame(nil, &wire.Frame{Raw: data, Data: data, Whole: true})
	if err != nil || !w.Streamed() {
		t.Fatalf("got %v, %t", err, w.Streamed())
	}
	if out, err = w.Close(out); err != nil {
		t.Fatal(err)
	}
	want := []string{"reasoning r", "message a", "function_call f{} c0", `function_call g{"x":1} c1`, "completed"}
	if got := output(t, check(t, out).Final); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTooLarge wants an end of answers that have none: nothing of one is kept without a bound.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 1<<20)
	endless := map[string]func(i int) string{
		"text": func(int) string { return delta(`{"content":"` + text + `"}`) },
		"waiting": func(i int) string {
			return delta([]string{call(0, "c0", "f", "{"), `{"content":"` + text + `"}`}[min(i, 1)])
		},
		"items": func(i int) string { return delta([]string{`{"content":"a"}`, `{"reasoning":"b"}`}[i%2]) },
		"calls": func(i int) string { return delta(call(i, fmt.Sprint("c", i), "f", "{}")) },
		"thoughts": func(int) string {
			return delta(`{"reasoning_details":[{"type":"reasoning.text","text":"` + text + `"}]}`)
		},
	}
	for name, chunk := range endless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := parse(t, `{"model":"m","input":"x","stream":true`+tools+`}`).Writer(response(true))
			shape, frame := &wire.Shape{}, &wire.Frame{}
			for i := range 1 << 17 {
				data := []byte(chunk(i))
				shape.Read(frame, data, data)
				_, err := w.Frame(nil, frame)
				if e := gateway.AsError(err); err != nil && e.Code == "answer_too_large" {
					return
				} else if err != nil {
					t.Fatal(err)
				}
			}
			t.Error("got no end of the answer")
		})
	}
}

// TestEcho wants what the request says in the response.
func TestEcho(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"model":"m","input":"x","instructions":"i","temperature":0.20,"metadata":{"a":"b"},"tools":[{"type":"function","name":"f"},{"type":"web_search"}],"tool_choice":"auto","text":{"format":{"type":"json_object"},"verbosity":"low"},`+"\n"+`"reasoning":{"effort":"low"},"max_output_tokens":16,"parallel_tool_calls":false,"service_tier":"flex","truncation":"auto","user":"u","presence_penalty":0.50}`)
	body := whole(t, r, `{"model":"m-1","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`)
	for _, want := range []string{`"instructions":"i"`, `"temperature":0.20`, `"metadata":{"a":"b"}`, `"tools":[{"type":"function","name":"f","description":null,"parameters":null,"strict":false},{"type":"web_search"}]`,
		`"text":{"format":{"type":"json_object"},"verbosity":"low"}`, `"reasoning":{"effort":"low","summary":null}`, `"max_output_tokens":16`, `"parallel_tool_calls":false`, `"service_tier":"flex"`, `"truncation":"auto"`, `"user":"u"`, `"model":"m-1"`, `"store":false`, `"usage":null`, `"presence_penalty":0.50`, `"frequency_penalty":0.0`} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("got %s, want %s in it", body, want)
		}
	}
}

// TestAllocs wants no memory for a chunk of a text, of reasoning or of arguments, but what the
// text itself grows by.
func TestAllocs(t *testing.T) {
	for _, tt := range []struct{ name, first, next string }{
		{"text", delta(`{"content":"a"}`), delta(`{"content":" word\n"}`)},
		{"reasoning", delta(`{"reasoning_content":"a"}`), delta(`{"reasoning_content":" word"}`)},
		{"arguments", delta(call(0, "c", "f", `{\"a\":\"`)), delta(piece(0, ` word`))},
	} {
		w := parse(t, `{"model":"m","input":"x","stream":true`+tools+`}`).Writer(response(true))
		shape, frame := &wire.Shape{}, &wire.Frame{}
		var out []byte
		write := func(d []byte) {
			shape.Read(frame, d, d)
			var err error
			if out, err = w.Frame(out[:0], frame); err != nil {
				t.Fatal(err)
			}
		}
		write([]byte(tt.first))
		next := []byte(tt.next)
		for range 4000 { // the text has room by then for what follows
			write(next)
		}
		if n := testing.AllocsPerRun(200, func() { write(next) }); n > 0 {
			t.Errorf("%s: got %v allocations for a chunk, want none", tt.name, n)
		}
	}
}

// BenchmarkWriter writes chunks of a text.
func BenchmarkWriter(b *testing.B) {
	r, err := responses.Parse([]byte(`{"model":"m","input":"x","stream":true}`), responses.Options{})
	if err == nil {
		err = r.Translate()
	}
	if err != nil {
		b.Fatal(err)
	}
	shape, frame, data := &wire.Shape{}, &wire.Frame{}, []byte(delta(`{"content":" word"}`))
	w := r.Writer(response(true))
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		shape.Read(frame, data, data)
		out, _ = w.Frame(out[:0], frame)
	}
}

// TestCitationsAreSaid holds that citations of Anthropic's, which a response has no place for, are named.
func TestCitationsAreSaid(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"model":"m","input":"x","stream":true}`)
	cites := func(list string) string { return delta(`{"provider_specific_fields":{"citations":` + list + `}}`) }
	for list, want := range map[string][]string{`[{"type":"char_location","cited_text":"a"}]`: {"dropped:citations"}, `[]`: nil} {
		sum, out := chunks(t, r, delta(`{"content":"a"}`), cites(list), finish("stop"), "[DONE]")
		check(t, out)
		if !slices.Equal(sum.Warnings, want) {
			t.Errorf("%s: got the warnings %q, want %q", list, sum.Warnings, want)
		}
	}
}
