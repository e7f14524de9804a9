package chain_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/internal/steps"
	"github.com/callgate/callgate/sdk/abi"
)

// hostile are what a model may repeat to have parsers work for nothing.
var hostile = map[string]string{
	"opener":                   "<tool_call>",
	"opener and brace":         "<tool_call>{",
	"opener and words":         "<tool_call> x\n",
	"opener and name":          "<tool_call>get_weather\n",
	"opener and half a call":   `<tool_call>{"name": "get_weather", "arguments": {"city": "`,
	"opener and other's body":  `<tool_call>[get_weather(city='`,
	"short opener":             "<xml>{",
	"near-openers":             "<tool_cal <tool_callx <|tool_call ",
	"half openers":             "<tool_call",
	"angle brackets":           "<",
	"nested openers":           "<tool_calls><tool_call><function=",
	"two formats":              "<tool_call>{[TOOL_CALL]{",
	"two formats, no brace":    "[TOOL_CALLS]<|tool_call|>",
	"three formats":            "<function=f>\n<invoke name=\"g\">\n<tool_call>{\"a\":",
	"mistral":                  "[TOOL_CALLS]{",
	"mistral's names":          "[TOOL_CALLS]get_weather[ARGS]",
	"brackets and equals":      "[TOOL_REQUEST][\"",
	"calling tool":             "[Calling tool: get_time({})]",
	"function":                 "<function=get_weather>{",
	"function and parameter":   "<function=get_weather>\n<parameter=city>\n",
	"minimax":                  "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">",
	"glm":                      "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>",
	"deepseek":                 "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
	"kimi":                     "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_time:0",
	"llama":                    "<|python_tag|>{\"name\": ",
	"react":                    "Action: get_weather\nAction Input: [",
	"smolagents":               "\nAction:\n{\"name\": \"get_time\", ",
	"muse's recipients":        " to=user<|message|>to=",
	"list of no calls":         "<TOOLCALL>[{\"a\": 1}, ",
	"cohere":                   "<|START_ACTION|>[{",
	"harmony's channels":       "<|channel|>",
	"harmony's half headers":   "<|channel|>analysis<|messag",
	"harmony's headers":        "<|start|>assistant<|channel|>commentary to=functions.get_time<|message|>",
	"functionary's text":       ">>>all\nChecking",
	"functionary's tags":       ">>>all\n<<<<<<",
	"fences":                   "```\n",
	"fences of JSON":           "```json\n{\"a\": 1}\n```\n",
	"fences of tildes":         "~~~\n<tool_call>{",
	"backticks":                "`<tool_call>`",
	"brackets":                 "[[[[[[[[",
	"braces":                   `{"a":`,
	"unclosed JSON":            `{"name": "get_weather", "arguments": {"city": "`,
	"openers in deep brackets": "[[[[<tool_call>{{{{",
	"huge numbers":             "<tool_call>{\"a\": 1" + strings.Repeat("0", 200),
	"escapes":                  `<tool_call>{"name": "\u0041\\\"`,
	"long names":               "<function=" + strings.Repeat("n", 300),
	"long names of tags":       "<tool_call>" + strings.Repeat("n", 300) + "\n",
	"ends of reasoning":        "</think>",
	"beginnings of reasoning":  "<think>",
	"JSON behind reasoning":    "</think>{",
	"lists behind reasoning":   "</think>[\"",
	"end tokens":               "<|im_end|>",
	"quoted openers":           `"<tool_call>{"`,
	"white space":              " \n\t",
	"openers far apart":        "<tool_call>" + strings.Repeat(" word", 20),
	"half a rune":              "<tool_call>\xe2",
}

// hostilePlans are those that read hostile text: of all parsers, and of one that somebody named.
func hostilePlans() map[string]*chain.Plan {
	plans := map[string]*chain.Plan{}
	for _, name := range []string{"auto", "hermes", "qwen3_coder", "harmony", "functionary_v32"} {
		plans[name] = plan(name)
	}
	return plans
}

// counting counts what is asked of parsers, which in the sandbox costs about as much a call as
// some hundred bytes do.
type counting struct{ calls, bytes int }

func (c *counting) count(bytes int) { c.calls, c.bytes = c.calls+1, c.bytes+bytes }

func (c *counting) CanParse(ctx context.Context, parser string, head []byte) (abi.Verdict, error) {
	c.count(len(head))
	return runner.CanParse(ctx, parser, head)
}

func (c *counting) Open(ctx context.Context, parser string, o abi.Options) (chain.Run, error) {
	c.count(0)
	run, err := runner.Open(ctx, parser, o)
	return &countingRun{run, c}, err
}

type countingRun struct {
	chain.Run
	by *counting
}

func (r *countingRun) Feed(ctx context.Context, text []byte) ([]abi.Event, error) {
	r.by.count(len(text))
	return r.Run.Feed(ctx, text)
}

func (r *countingRun) Finish(ctx context.Context, reason abi.Reason) ([]abi.Event, error) {
	r.by.count(0)
	return r.Run.Finish(ctx, reason)
}

// work reads so much of a text that repeats a unit, in pieces of a size.
func (c *counting) work(p *chain.Plan, offered []abi.Tool, unit string, size, piece int) {
	text := []byte(strings.Repeat(unit, size/len(unit)+1)[:size])
	ch := p.New(c, chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto})
	defer ch.Close()
	for ; len(text) > 0; text = text[min(piece, len(text)):] {
		if part := text[:min(piece, len(text))]; ch.Plain(part) == chain.Undecided {
			ch.Feed(context.Background(), part)
		}
	}
	ch.Finish(context.Background(), abi.Stop)
}

// TestHostileTextIsLinear holds that text twice as long takes at most 2.2 times the steps, those of
// the parsers counted in, whatever it repeats, and not many steps a byte.
func TestHostileTextIsLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const size = 16 << 10
		offered := tools(t)
		for name, p := range hostilePlans() {
			for _, text := range slices.Sorted(maps.Keys(hostile)) {
				for _, piece := range []int{2 * size, 16} {
					cost := func(size int) uint64 {
						return steps.Of(func() { new(counting).work(p, offered, hostile[text], size, piece) }).Steps
					}
					const little = 2 * size // of which what is there once is a large part
					n, m := cost(size), cost(2*size)
					if float64(m) > 2.2*float64(max(n, little)) {
						t.Errorf("%s, %s, in pieces of %d: got %d steps and %d for twice the text, %.2f times as many", name, text, piece, n, m, float64(m)/float64(n))
					}
					if most := uint64(3<<20 + 200*2*size); m > most { // what an answer may spend once, and a byte's part
						t.Errorf("%s, %s, in pieces of %d: got %d steps for %d bytes, want %d at most", name, text, piece, m, 2*size, most)
					}
				}
			}
		}
	})
}

// TestHostileTextIsBounded holds what parsers may be asked to do for nothing: so many calls into the
// sandbox and so many bytes, for an answer and for each byte of it.
func TestHostileTextIsBounded(t *testing.T) {
	t.Parallel()
	const size = 64 << 10
	offered := tools(t)
	for name, p := range hostilePlans() {
		for text, unit := range hostile {
			for _, piece := range []int{size, 16} {
				var c counting
				c.work(p, offered, unit, size, piece)
				// Once a few thousand calls, then one for some tens of bytes; and as the text comes in pieces,
				// two for each of them: one that may be the beginning of a call, and one that is read on.
				if most := 6000 + size/16 + 2*size/piece; c.calls > most {
					t.Errorf("%s, %s, in pieces of %d: parsers were called %d times for %d bytes, want %d at most", name, text, piece, c.calls, size, most)
				}
				if most := 24 * size; c.bytes > most {
					t.Errorf("%s, %s, in pieces of %d: parsers were given %d bytes of %d, want %d at most", name, text, piece, c.bytes, size, most)
				}
			}
		}
	}
}

// TestHostileTailIsLinear holds that the same goes for what may be the end of the output behind a call that is open.
func TestHostileTailIsLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const size, factor = 4 << 10, 8
		offered := tools(t)
		p := plan("hermes")
		for _, unit := range []string{" ", "\n", "</s>", "</s>\n", "[e~["} {
			work := func(size int) func() {
				return func() {
					ch := p.New(runner, chain.Options{Tools: func() []abi.Tool { return offered }})
					defer ch.Close()
					ch.Feed(context.Background(), []byte(`<tool_call>{"name": "get_time", "arguments": {"n": 1}}`))
					for _, piece := range pieces(strings.Repeat(unit, size/len(unit)), 3) {
						ch.Feed(context.Background(), []byte(piece))
					}
					ch.Finish(context.Background(), abi.Stop)
				}
			}
			steps.Linear(t, factor, work(size), work(size*factor))
		}
	})
}
