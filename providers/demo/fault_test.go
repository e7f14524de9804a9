package demo_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/demo"
)

var update = flag.Bool("update", false, "write what the models answer into the files of testdata, to be read before it is committed")

// TestFaults holds what the models that do something wrong or need a guard answer to the requests in
// testdata, whole and streamed. A file is named for its model.
func TestFaults(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{"hang": true} // it has a test of its own
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		model, _, _ := strings.Cut(name, ".")
		tried[model] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 3 {
				t.Fatalf("got %d parts, want request.json, whole.txt and stream.txt", len(archive.Files))
			}
			for i, stream := range []bool{false, true} {
				p := demo.New(demo.Config{Delay: -1, ChunkRunes: 6})
				got := told(t, p, model, archive.Files[0].Data, stream)
				if f := &archive.Files[i+1]; *update {
					f.Data = []byte(got)
				} else if string(f.Data) != got {
					t.Errorf("%s: got\n%swant\n%s", f.Name, got, f.Data)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, model := range slices.Concat(demo.Faults(), demo.Guards()) {
		if !tried[model] {
			t.Errorf("testdata has no file for %s", model)
		}
	}
}

// told is the answer to a request, a line for each thing it says.
func told(t *testing.T, p *demo.Provider, model string, request []byte, stream bool) string {
	t.Helper()
	if stream {
		request = slices.Concat([]byte(`{"stream":true,`), request[1:])
	}
	req, err := gateway.ParseRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Chat(t.Context(), model, req)
	if err != nil {
		return failure(err)
	}
	defer reply.Close()
	var b strings.Builder
	for {
		f, err := reply.Next()
		switch {
		case err == io.EOF:
			return b.String()
		case err != nil:
			b.WriteString(failure(err))
			return b.String()
		case f.Done:
			b.WriteString("done\n")
		default:
			b.WriteString(saying(t, f.Data))
		}
	}
}

func failure(err error) string {
	e := gateway.AsError(err)
	return fmt.Sprintf("error %d %s, retry %v after %v: %s\n", e.HTTPStatus(), e.CodeOrDefault(), e.Retryable(), e.RetryAfter, e.Message)
}

// saying is what a chunk or a completion says.
func saying(t *testing.T, data []byte) string {
	t.Helper()
	var c struct {
		Choices []struct {
			Message, Delta json.RawMessage
			FinishReason   *string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if len(c.Choices) != 1 {
		return string(data) + "\n"
	}
	said := string(c.Choices[0].Message) + string(c.Choices[0].Delta) + "\n"
	if reason := c.Choices[0].FinishReason; reason != nil {
		said += "finish " + *reason + "\n"
	}
	return said
}

// TestFaultsBesideCalls checks that models whose calls are wrong, and those that
// answer late, say the rest as native does.
func TestFaultsBesideCalls(t *testing.T) {
	t.Parallel()
	requests := map[string]string{
		"no call":  body(true, "Hi, why and where?", weather, ""),
		"no tools": body(true, "What is the weather in Oslo?", "", ""),
		"none":     body(true, "What is the weather in Oslo?", weather, `,"tool_choice":"none"`),
		"results": `{"model":"m","stream":true,"tools":[` + weather + `],"messages":[{"role":"user","content":"both, in Oslo"},
			{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","tool_call_id":"1","content":"12 degrees"}]}`,
	}
	never := []string{"rate_limited_always", "unavailable", "auth", "hang", "cut", "error_in_stream", "late_error", "empty"}
	for _, model := range demo.Faults() {
		if slices.Contains(never, model) {
			continue
		}
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			for name, request := range requests {
				p := fast()
				if model == "rate_limited" || model == "flaky" {
					if got := told(t, p, model, []byte(request), false); !strings.HasPrefix(got, "error ") {
						t.Errorf("%s: got %q at first, want an error", name, got)
					}
				}
				got, want := told(t, p, model, []byte(request), false), told(t, p, "native", []byte(request), false)
				if got != want || !strings.HasSuffix(want, "finish stop\ndone\n") {
					t.Errorf("%s: got\n%swant\n%s", name, got, want)
				}
			}
		})
	}
}

// TestFaultUsage checks that an answer of a faulty model is dated, named and counted
// as any other.
func TestFaultUsage(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"broken_args", "concatenated", "malformed", "stop_reason", "wrong_index", "slow", "empty"} {
		for _, stream := range []bool{false, true} {
			request := body(stream, "What is the weather in Oslo?", weather, `,"stream_options":{"include_usage":true}`)
			if got := read(t, chat(t.Context(), t, fast(), model, request)); got.Role != "assistant" || got.usage != 1 || got.done != stream {
				t.Errorf("%s, stream %v: got %+v, want an assistant's answer with usage and an end", model, stream, got)
			}
		}
	}
}

// TestNow checks that an answer is dated by the clock of the configuration.
func TestNow(t *testing.T) {
	t.Parallel()
	p := demo.New(demo.Config{Delay: -1, Now: func() time.Time { return time.Unix(1234567890, 0) }})
	reply := chat(t.Context(), t, p, "native", body(false, "hi", "", ""))
	defer reply.Close()
	if f, err := reply.Next(); err != nil || !strings.Contains(string(f.Data), `"created":1234567890,`) {
		t.Errorf("got %s, %v, want it created at 1234567890", f.Data, err)
	}
}
