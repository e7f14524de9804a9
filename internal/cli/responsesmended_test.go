package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// finalOf is the response that an answer ends with, as it was written, and its output.
func finalOf(t *testing.T, body string, stream bool) (response string, output []string) {
	t.Helper()
	if stream {
		_, last, ok := strings.Cut(body, "event: response.completed\ndata: ")
		if !ok {
			t.Fatalf("got no end in %s", body)
		}
		last, _, _ = strings.Cut(last, "\n")
		var e struct{ Response json.RawMessage }
		if err := json.Unmarshal([]byte(last), &e); err != nil {
			t.Fatal(err)
		}
		body = string(e.Response)
	}
	var r struct{ Output json.RawMessage }
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if err := json.Unmarshal(r.Output, &items); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		output = append(output, string(item))
	}
	return strings.Replace(body, string(r.Output), "[]", 1), output
}

// TestResponsesMended has answers of which the gateway repairs something: what the upstream has said of its response
// otherwise stays as it was, with members that nobody knows.
func TestResponsesMended(t *testing.T) {
	t.Parallel()
	const inText = `<tool_call>{\"name\":\"get_time\",\"arguments\":{\"b\":2}}</tool_call>`
	for name, replaced := range map[string][]string{
		"arguments": {`" 1.0}"`, `" 1.0,}"`, `\"a\": 1.0}`, `\"a\": 1.0,}`},
		"text":      {`"one two"`, `"one ` + inText + `"`, `"delta":"two"`, `"delta":"` + inText + `"`, `"content":[],"phase"`, `"content":[],"new":null,"phase"`},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", name, stream), func(t *testing.T) {
				t.Parallel()
				whole, _ := finalOf(t, passed(false), false)
				body := passed(false)
				kind := "application/json"
				if stream {
					body, kind = passedKnown(), events
				}
				g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native, parser: auto}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}",
					static(t, http.StatusOK, kind, strings.NewReplacer(replaced...).Replace(body))))
				_, r := g.judged(t, fmt.Sprintf(`{"model":"m","input":"x","stream":%v,"tools":%s}`, stream, nativeTools), stream)
				if said := r.header.Get("x-callgate-repairs") + r.body; name == "arguments" && !strings.Contains(said, "args_json") {
					t.Errorf("got no repair in %s", said)
				}
				got, output := finalOf(t, r.body, stream)
				want := regexp.MustCompile(`resp_[0-9a-f]{48}`).FindString(got)
				want = withDefaults(strings.NewReplacer("resp_up", want, `"store":false`, `"store":true`).Replace(whole))
				if got != want {
					t.Errorf("got the response %s\nwant %s", got, want)
				}
				calls := 0
				for _, item := range output {
					if strings.Contains(item, `"get_time"`) {
						calls++
					}
				}
				if !stream || name == "arguments" {
					mendedItems(t, output, name, stream)
				}
				if stream && name == "text" && (len(output) < 4 || !strings.Contains(output[3], `"msg_up"`) || !strings.Contains(output[3], `"new":null`)) {
					t.Errorf("got the items %s, want the message to keep what nobody reads of it", output)
				}
				if want := map[string]int{"arguments": 1, "text": 2}[name]; calls != want {
					t.Errorf("got %d calls, not %d: %s", calls, want, output)
				}
			})
		}
	}
}

// mendedItems demands that the items of a repaired answer are the upstream's, but for what was repaired. In a stream the gateway
// has said a call that it repairs with an id of its own.
func mendedItems(t *testing.T, output []string, name string, stream bool) {
	t.Helper()
	for i, it := range passItems {
		want := regexp.MustCompile(`"encrypted_content":".*?",`).ReplaceAllString(it.item, "")
		switch {
		case name == "text" && i == 3:
			want = strings.Replace(want, `"one two"`, `"one"`, 1)
		case name == "arguments" && i == 6: // which is the upstream's, and nobody reads it
			want = strings.Replace(want, `1.0}`, `1.0,}`, 1)
		}
		if stream && i == 4 {
			want = canonical(t, strings.Replace(want, "fc_up", "ID", 1))
			if i < len(output) {
				output[i] = canonical(t, regexp.MustCompile(`fc_[0-9a-z]+`).ReplaceAllString(output[i], "ID"))
			}
		}
		if i >= len(output) || output[i] != want {
			t.Errorf("got the items %s, not %s", output[min(i, len(output)-1):], want)
		}
	}
	if more := len(output) - len(passItems); more != map[string]int{"arguments": 0, "text": 1}[name] {
		t.Errorf("got %d items more: %s", more, output)
	}
}

// overlapping asks for a stream whose items may overlap, and judges it. It returns the events without what is the gateway's:
// the response's id, whether it is stored, and the members that it adds.
func overlapping(t *testing.T, body string) (stream string, r result) {
	t.Helper()
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}",
		static(t, http.StatusOK, events, body)))
	r = g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x","stream":true,"include":["reasoning.encrypted_content"],"tools":`+nativeTools+`}`))
	if _, err := responsestest.CheckOverlapping([]byte(r.body)); err != nil {
		t.Errorf("%v in %s", err, r.body)
	}
	stream = regexp.MustCompile(`(?m)^: .*\n\n`).ReplaceAllString(strings.TrimSuffix(r.body, "data: [DONE]\n\n"), "")
	stream = regexp.MustCompile(`resp_[0-9a-f]{48}`).ReplaceAllString(stream, "resp_up")
	return strings.NewReplacer(`"store":true`, `"store":false`, `,"prompt_cache_retention":null`, "").Replace(stream), r
}

// renumbered gives events their numbers in the order that they have.
func renumbered(stream string) string {
	n := -1
	return regexp.MustCompile(`"sequence_number":\d+`).ReplaceAllStringFunc(stream, func(string) string {
		n++
		return fmt.Sprintf(`"sequence_number":%d`, n)
	})
}

// interleaved is a stream of two calls at once, and a message beside them, as servers write it that give out what models
// write in parallel. steps say whose turn it is: a letter of a call begins it, gives a piece of its arguments, or ends it.
func interleaved(steps string, calls map[rune][]string) string {
	const usage = `"completed_at":9,"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":3,"new":3}`
	var b strings.Builder
	n := 0
	event := func(kind, members string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, n, members)
		n++
	}
	response := func(status, output, rest string) string {
		return fmt.Sprintf(`"response":{"id":"resp_up","object":"response","created_at":7,"status":%q,"output":[%s],%s,%s}`, status, output, rest, passEcho)
	}
	begun := response("in_progress", "", `"completed_at":null,"usage":null`)
	event("response.created", begun)
	event("response.in_progress", begun)
	at, places := map[rune]int{}, map[rune]int{}
	items := make([]string, len(calls))
	for _, c := range steps {
		pieces := calls[c]
		at[c]++
		switch step := at[c]; {
		case step == 1:
			places[c] = len(places)
			event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"id":"fc_%c","type":"function_call","status":"in_progress","arguments":"","call_id":"call_%c","name":"get_time"}`, places[c], c, c))
		case step <= len(pieces)+1:
			piece, _ := json.Marshal(pieces[step-2])
			event("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"fc_%c","output_index":%d,"delta":%s`, c, places[c], piece))
		case step == len(pieces)+2:
			args, _ := json.Marshal(strings.Join(pieces, ""))
			event("response.function_call_arguments.done", fmt.Sprintf(`"item_id":"fc_%c","output_index":%d,"arguments":%s`, c, places[c], args))
		default:
			args, _ := json.Marshal(strings.Join(pieces, ""))
			items[places[c]] = fmt.Sprintf(`{"id":"fc_%c","type":"function_call","status":"completed","arguments":%s,"call_id":"call_%c","name":"get_time","new":1.0}`, c, args, c)
			event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, places[c], items[places[c]]))
		}
	}
	event("response.completed", response("completed", strings.Join(items, ","), usage))
	return b.String()
}

// TestResponsesInterleaved has calls whose arguments come at once, in many orders: byte for byte where nothing is to be
// repaired, and else each call once, with its own arguments.
func TestResponsesInterleaved(t *testing.T) {
	t.Parallel()
	good := map[rune][]string{'a': {`{"a":`, `1.0}`}, 'b': {`{"b":"x`, `y"}`}}
	for name, calls := range map[string]map[rune][]string{
		"good":   good,
		"first":  {'a': {`{"a":`, `1.0,}`}, 'b': good['b']},
		"second": {'a': good['a'], 'b': {`{"b":"x`, `y",}`}},
		"both":   {'a': {`{"a":`, `1.0,}`}, 'b': {`{"b":"x`, `y",}`}},
		"three":  {'a': good['a'], 'b': {`{"b":"x`, `y",}`}, 'c': {`{"c":`, `null}`}},
	} {
		orders := []string{"aaaaabbbbb", "ababababab", "aabbaabbab", "abbbbbaaaa", "aaabbbabab", "aaaabbbbab", "ababbbbaaa"}
		if name == "three" {
			orders = []string{"abcabcabcabcabc", "acbccccbbbbaaaa", "aaabbbcccaabbcc", "abbbbbaaaaccccc", "abcccccbbbbaaaa", "aabbccabcabcabc"}
		}
		for _, order := range orders {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				body := interleaved(order, calls)
				got, r := overlapping(t, body)
				if name == "good" && got != body {
					t.Errorf("got %s\nwant %s", got, body)
				}
				_, output := finalOf(t, r.body, true)
				if len(output) != len(calls) {
					t.Fatalf("got %d calls: %s", len(output), r.body)
				}
				seen := map[string]string{}
				for _, item := range output {
					var c struct {
						Arguments string
						CallID    string `json:"call_id"`
					}
					if err := json.Unmarshal([]byte(item), &c); err != nil {
						t.Fatal(err)
					}
					seen[c.CallID] = c.Arguments
				}
				for c := range calls {
					if want := strings.Replace(strings.Join(calls[c], ""), ",}", "}", 1); seen["call_"+string(c)] != want {
						t.Errorf("got the call %c with %q, not %s: %s", c, seen["call_"+string(c)], want, r.body)
					}
				}
				if n := strings.Count(r.body, "event: response.output_item.added\n"); n != len(calls) {
					t.Errorf("got %d beginnings: %s", n, r.body)
				}
			})
		}
	}
}
