package tally

import (
	"io"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

type sink struct{ n int }

func (s *sink) Put(f *wire.Frame) { s.n += len(f.Raw) }

// TestTally holds that the usage is found at the end of an answer, in whatever pieces it comes.
func TestTally(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("QUJD", 20_000)
	for _, row := range []struct {
		name, text string
		input      int
	}{
		{"embeddings", `{"data":[{"embedding":"` + long + `"}],"usage":{"prompt_tokens":7,"total_tokens":7}}`, 7},
		{"spaced", `{"data":"` + long + `", "usage" : {"input_tokens":9,"output_tokens":1} , "x":1}`, 9},
		{"stream", "data: {\"usage\":null}\n\ndata: {\"usage\":{\"prompt_tokens\":3}}\n\ndata: {\"usage\":null}\n\ndata: [DONE]\n\n", 3},
		{"none", `{"results":[]}`, 0},
		{"cut", `{"usage":{"prompt_tokens":7`, 0},
		{"a text", `{"x":"\"usage\":{\"prompt_tokens\":7}"}`, 0},
	} {
		for _, size := range []int{1, 7, 4096, len(row.text)} {
			o := &gateway.Outcome{}
			s, _ := Maker{}.Begin(t.Context(), nil, o)
			out := &sink{}
			for rest := row.text; rest != ""; {
				n := min(size, len(rest))
				if err := s.Frame(&wire.Frame{Raw: []byte(rest[:n])}, out); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := s.End(io.EOF, out); err != nil {
				t.Fatal(err)
			}
			if o.Usage.Input != row.input || out.n != len(row.text) {
				t.Errorf("%s in pieces of %d: got %d tokens and %d bytes, want %d and all", row.name, size, o.Usage.Input, out.n, row.input)
			}
		}
	}
}
