package responses_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// said is what a chat message of the model's says.
type said struct {
	Content   *string  `json:"content"`
	Reasoning string   `json:"reasoning_content,omitempty"`
	Calls     []called `json:"tool_calls,omitempty"`
}

type called struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
		Args string `json:"arguments"`
	} `json:"function"`
}

// TestProperty wants of chat, whole and in pieces cut anywhere: as a response, and as the input of
// the next request, it is the same message, with its calls, ids, text and reasoning; the usage
// is the same too.
func TestProperty(t *testing.T) {
	t.Parallel()
	const request = `{"model":"m","stream":%t,"include":["reasoning.encrypted_content"],"input":%s,"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"},{"type":"custom","name":"patch"},{"type":"namespace","name":"fs","tools":[{"type":"function","name":"read"}]}]}`
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := randomMessage(r)
		usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d}`, r.IntN(1000), r.IntN(1000))
		for _, stream := range []bool{false, true} {
			first := parse(t, fmt.Sprintf(request, stream, `"x"`))
			var final responsestest.Object
			if stream {
				lines := append(randomChunks(r, m), finish("stop"), `{"choices":[],"usage":`+usage+`}`, "[DONE]")
				_, out := chunks(t, first, lines...)
				final = check(t, out).Final
			} else {
				message, _ := json.Marshal(m)
				final, _ = responsestest.CheckResponse(whole(t, first, `{"choices":[{"index":0,"message":`+string(message)+`,"finish_reason":"stop"}],"usage":`+usage+`}`))
			}
			items, err := json.Marshal(final["output"])
			if err != nil {
				t.Fatal(err)
			}
			var next struct{ Messages []said }
			chat := parse(t, fmt.Sprintf(request, stream, items)).Chat()
			if err := json.Unmarshal(chat, &next); err != nil {
				t.Fatal(err)
			}
			if len(next.Messages) != 1 || !reflect.DeepEqual(next.Messages[0], m) {
				want, _ := json.Marshal(m)
				t.Fatalf("seed %d, streamed %t:\ngot  %s\nof   %s\nwant %s", seed, stream, chat, items, want)
			}
			var counts, got struct{ Prompt, Completion int }
			fmt.Sscanf(usage, `{"prompt_tokens":%d,"completion_tokens":%d}`, &counts.Prompt, &counts.Completion)
			u, _ := final["usage"].(map[string]any)
			got.Prompt, got.Completion = int(u["input_tokens"].(float64)), int(u["output_tokens"].(float64))
			if got != counts {
				t.Fatalf("seed %d: got the usage %v, want %v", seed, u, counts)
			}
		}
	}
}

func randomText(r *rand.Rand, limit int) string {
	alphabet := []rune("ab \n\"\\{}<é世😀\x00")
	text := make([]rune, 1+r.IntN(limit))
	for i := range text {
		text[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(text)
}

func randomMessage(r *rand.Rand) (m said) {
	if r.IntN(2) > 0 {
		m.Reasoning = randomText(r, 30)
	}
	for i := range r.IntN(4) {
		c := called{ID: fmt.Sprintf("c%d", i), Type: "function"}
		c.Function.Name = []string{"f", "g", "patch", "fs__read"}[r.IntN(4)]
		key := "x"
		if c.Function.Name == "patch" {
			key = "input"
		}
		text, _ := json.Marshal(randomText(r, 20))
		c.Function.Args = fmt.Sprintf(`{%q:%s}`, key, text)
		m.Calls = append(m.Calls, c)
	}
	if len(m.Calls) == 0 || r.IntN(2) > 0 {
		text := randomText(r, 30)
		m.Content = &text
	}
	return m
}

// randomChunks are the deltas of a message, cut anywhere, of which some calls come at once.
func randomChunks(r *rand.Rand, m said) (lines []string) {
	pieces := func(text string, take func(piece string)) {
		for runes := []rune(text); len(runes) > 0; {
			n := 1 + r.IntN(min(len(runes), 9))
			take(string(runes[:n]))
			runes = runes[n:]
		}
	}
	add := func(member string) func(string) {
		return func(piece string) {
			quoted, _ := json.Marshal(piece)
			lines = append(lines, delta(fmt.Sprintf(`{%q:%s}`, member, quoted)))
		}
	}
	pieces(m.Reasoning, add("reasoning_content"))
	if m.Content != nil {
		pieces(*m.Content, add("content"))
	}
	var queues [][]string
	for i, c := range m.Calls {
		q := []string{delta(call(i, c.ID, c.Function.Name, ""))}
		pieces(c.Function.Args, func(p string) {
			quoted, _ := json.Marshal(p)
			q = append(q, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quoted)))
		})
		queues = append(queues, q)
	}
	for _, q := range queues { // they begin in their order
		lines = append(lines, q[0])
	}
	for left := len(queues); left > 0; {
		i := r.IntN(len(queues))
		if len(queues[i]) > 1 {
			lines, queues[i] = append(lines, queues[i][1]), queues[i][1:]
		}
		left = 0
		for _, q := range queues {
			left += len(q) - 1
		}
	}
	return lines
}
