package responses

import (
	"testing"

	"github.com/callgate/callgate/gateway/usage"
)

// TestCounts holds that a count that is none is not billed as 0: it stays where the gateway sees it.
func TestCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, out string
		faults  usage.Fault
	}{
		{`{"input_tokens":3,"output_tokens":4}`, `{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}`, 0},
		{`{"input_tokens":3e0,"output_tokens":4.0}`, `{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}`, 0},
		{`{"input_tokens":null}`, `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, 0},
		{`{"input_tokens":"3","output_tokens":4}`, `{"prompt_tokens":0,"completion_tokens":4,"total_tokens":4,"input_tokens":"3"}`, usage.NotACount},
		{`{"input_tokens":3,"output_tokens":-4}`, `{"prompt_tokens":3,"completion_tokens":0,"total_tokens":3,"output_tokens":-4}`, usage.Negative},
		{`{"input_tokens":99999999999999999999,"output_tokens":4}`, `{"prompt_tokens":0,"completion_tokens":4,"total_tokens":4,"input_tokens":99999999999999999999}`, usage.TooLarge},
	} {
		got := counts([]byte(c.in))
		if string(got) != c.out {
			t.Errorf("%s: got %s, want %s", c.in, got, c.out)
		}
		if faults := usage.Read(got).Faults; faults&c.faults != c.faults {
			t.Errorf("%s: got the faults %v, want %v", got, faults, c.faults)
		}
	}
}

// TestNameOf holds by which name the tool of a call is known: with its namespace, unless that is what
// OpenAI's tool_search makes of the name.
func TestNameOf(t *testing.T) {
	t.Parallel()
	const spaces = `{"tools":[{"type":"function","name":"f"},{"type":"namespace","name":"g","tools":[]}]}`
	for item, want := range map[string]string{
		`{"name":"f"}`:                 `"f"`,
		`{"name":"f","namespace":"f"}`: `"f"`,
		`{"name":"f","namespace":"g"}`: `"g__f"`,
		`{"name":"g","namespace":"g"}`: `"g__g"`,
		`{"namespace":"g"}`:            `"g__"`,
		`{}`:                           `null`,
	} {
		if got := string(nameOf([]byte(item), namespaces([]byte(spaces)))); got != want {
			t.Errorf("%s: got %s, want %s", item, got, want)
		}
	}
}
