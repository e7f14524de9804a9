package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
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
		"text":      {`"one two"`, `"one ` + inText + `"`, `"delta":"two"`, `"delta":"` + inText + `"`},
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
				if !stream {
					mendedItems(t, output, name)
				}
				if want := map[string]int{"arguments": 1, "text": 2}[name]; calls != want {
					t.Errorf("got %d calls, not %d: %s", calls, want, output)
				}
			})
		}
	}
}

// mendedItems demands that the items of a mended answer are the upstream's, but for what was repaired.
func mendedItems(t *testing.T, output []string, name string) {
	t.Helper()
	for i, it := range passItems {
		want := regexp.MustCompile(`"encrypted_content":".*?",`).ReplaceAllString(it.item, "")
		switch {
		case name == "text" && i == 3:
			want = strings.Replace(want, `"one two"`, `"one"`, 1)
		case name == "arguments" && i == 6: // which is the upstream's, and nobody reads it
			want = strings.Replace(want, `1.0}`, `1.0,}`, 1)
		}
		if i >= len(output) || output[i] != want {
			t.Errorf("got the items %s, not %s", output[min(i, len(output)-1):], want)
		}
	}
	if more := len(output) - len(passItems); more != map[string]int{"arguments": 0, "text": 1}[name] {
		t.Errorf("got %d items more: %s", more, output)
	}
}
