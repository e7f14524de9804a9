package chain_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/sdk/abi"
)

// markup finds the markers of all formats: tags, special tokens, words in brackets or between flowers.
var markup = regexp.MustCompile(`\]<\]minimax\[>\[</?[a-z_]+(?: name="[a-z_]+")?>|</?[a-zA-Z|｜_][^<>\n]*>|\[/?[A-Z_]{4,}\]|✿[A-Z]+✿:`)

// inValues are markers that a value may begin or end with as text, so that one which comes twice is read as
// that, by format.
var inValues = map[string]*regexp.Regexp{
	"cwm":           regexp.MustCompile(`tool`),
	"functiongemma": regexp.MustCompile(`escape`),
	"gemma4":        regexp.MustCompile(`"`),
	"glm45":         regexp.MustCompile(`<arg_value`), "glm47": regexp.MustCompile(`<arg_value`), "laguna": regexp.MustCompile(`<arg_value`),
	"iquest_q1": regexp.MustCompile(`<arg_value`), "hy_v3": regexp.MustCompile(`<arg_value`), "ifm": regexp.MustCompile(`<ifm\|arg_value`),
	"kimi_k3": regexp.MustCompile(`open|close|sep`),
}

// faulty is a turn of three calls as a format writes it, and what is read of that.
type faulty struct {
	format  formats.Format
	plan    *chain.Plan
	opts    chain.Options
	text    string
	markers [][]int
	whole   result
}

// faultyTurns are those of all formats.
func faultyTurns(t *testing.T) (all []faulty) {
	t.Helper()
	offered := tools(t)
	value := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, f := range formats.All() {
		ids := []string{"call0", "call1", "call2"}
		if f.Name == "kimi_k2" {
			ids = []string{"functions.get_weather:0", "functions.get_time:1", "functions.search:2"}
		}
		turn := formats.Turn{Calls: []formats.Call{
			{ID: ids[0], Name: "get_weather", Args: []formats.Arg{{Key: "city", Value: value(`"Oslo"`)}, {Key: "days", Value: value("2")}}},
			{ID: ids[1], Name: "get_time"},
			{ID: ids[2], Name: "search", Args: []formats.Arg{{Key: "query", Value: value(`"a b"`)}, {Key: "tags", Value: value(`["x", "y"]`)}}},
		}}
		if f.Single {
			turn.Calls = turn.Calls[:1]
		}
		c := faulty{format: f, plan: plan(f.Name), opts: chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto}}
		c.text = f.Write(turn)
		c.markers = markup.FindAllStringIndex(c.text, -1)
		if c.whole = read(c.plan, c.opts, []string{c.text}, "stop"); len(c.whole.calls) != len(turn.Calls) {
			t.Fatalf("%s reads %d calls of %q, want %d", f.Name, len(c.whole.calls), c.text, len(turn.Calls))
		}
		all = append(all, c)
	}
	return all
}

// read reads a text whole, and wants the same in pieces.
func (c *faulty) read(t *testing.T, text string) result {
	t.Helper()
	got := read(c.plan, c.opts, []string{text}, "stop")
	for _, size := range []int{1, 7} {
		if streamed := read(c.plan, c.opts, pieces(text, size), "stop"); !reflect.DeepEqual(streamed, got) {
			t.Errorf("%q\nin pieces of %d: %+v\nwhole: %+v", text, size, streamed, got)
		}
	}
	return got
}

// TestMarkersTwice writes each marker of a turn twice: no call is made that the turn does not have, with
// other arguments, or more often.
func TestMarkersTwice(t *testing.T) {
	t.Parallel()
	for _, c := range faultyTurns(t) {
		t.Run(c.format.Name, func(t *testing.T) {
			t.Parallel()
			for _, m := range c.markers {
				for _, gap := range []string{"", "\n"} {
					text := c.text[:m[1]] + gap + c.text[m[0]:]
					got := c.read(t, text)
					if known := inValues[c.format.Name]; known != nil && known.MatchString(c.text[m[0]:m[1]]) {
						continue
					}
					left := slices.Clone(c.whole.calls)
					for _, call := range got.calls {
						i := slices.IndexFunc(left, func(w chain.Call) bool { return w.Name == call.Name && equalJSON(w.Arguments, call.Arguments) })
						if i < 0 {
							t.Errorf("%q\ngives the call %+v, want some of %+v, each of them once", text, call, c.whole.calls)
							continue
						}
						left = slices.Delete(left, i, i+1)
					}
				}
			}
		})
	}
}

// TestStrayBytes writes what begins a marker in front of each marker of a turn and behind it: whatever is read,
// it is the same in pieces as whole.
func TestStrayBytes(t *testing.T) {
	t.Parallel()
	for _, c := range faultyTurns(t) {
		t.Run(c.format.Name, func(t *testing.T) {
			t.Parallel()
			for _, m := range c.markers {
				for _, stray := range []string{"<", "</", "<|", "[", "{"} {
					c.read(t, c.text[:m[0]]+stray+c.text[m[0]:])
					c.read(t, c.text[:m[1]]+stray+c.text[m[1]:])
				}
			}
		})
	}
}

// TestLostCallIsSaid leaves out each byte of each marker of a turn, and writes each marker as HTML: where calls are
// read and one is not, which is in the text by its name, it is said. Glued to a marker it is another word.
func TestLostCallIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range faultyTurns(t) {
		t.Run(c.format.Name, func(t *testing.T) {
			t.Parallel()
			for _, m := range c.markers {
				marker := c.text[m[0]:m[1]]
				written := []string{"", strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(marker), strings.ToUpper(marker)}
				for i := range marker {
					written = append(written, marker[:i]+marker[i+1:])
				}
				for _, w := range written {
					text := c.text[:m[0]] + w + c.text[m[1]:]
					got := c.read(t, text)
					if len(got.calls) == 0 || len(got.warnings) > 0 {
						continue
					}
					for _, want := range c.whole.calls {
						isIt := func(made chain.Call) bool { return made.Name == want.Name }
						if glued := regexp.MustCompile(`\w` + want.Name + `|` + want.Name + `\w`); !slices.ContainsFunc(got.calls, isIt) && strings.Contains(got.content, want.Name) && !glued.MatchString(got.content) {
							t.Errorf("%q\ngives %+v without a warning, and no call of %s", text, got, want.Name)
						}
					}
				}
			}
		})
	}
}

// TestBeginningTwice writes the marker that a turn begins with twice: its calls are read, nothing leaks, and it
// is said.
func TestBeginningTwice(t *testing.T) {
	t.Parallel()
	for _, c := range faultyTurns(t) {
		if len(c.markers) == 0 || strings.TrimSpace(c.text[:c.markers[0][0]]) != "" || c.format.Name == "functionary_v2" || c.format.Name == "kimi_k3" {
			continue // it begins with a word, with markers of several parts, or none
		}
		t.Run(c.format.Name, func(t *testing.T) {
			t.Parallel()
			m := c.markers[0]
			for _, gap := range []string{"", "\n"} {
				text := c.text[:m[1]] + gap + c.text[m[0]:]
				got := c.read(t, text)
				if !reflect.DeepEqual(got.calls, c.whole.calls) || got.content != "" {
					t.Errorf("%q\ngives %+v, want %+v alone", text, got, c.whole.calls)
				}
			}
		})
	}
}

// TestStartInPieces reads texts that begin as some parser's calls do, with all parsers and the name of a model
// one of which reads any text: the same in pieces as whole.
func TestStartInPieces(t *testing.T) {
	t.Parallel()
	offered := tools(t)
	opts := chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto}
	for _, model := range []string{"meetkai/functionary-medium-v2.4", "mistralai/Devstral-Small-2507", "THUDM/glm-4-9b-chat"} {
		p := planFor("auto", model)
		for _, text := range []string{
			"all\n\n<|from|>assistant\n<|recipient|>get_time\n<|content|>{}", "all\nHello", "analysis<|message|>Hm.", "functions.get_time:0{}", "[get_time()]",
			"get_time{}", "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>", "```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```", "<", "all",
		} {
			whole := read(p, opts, []string{text}, "stop")
			for _, way := range cuts(text) {
				if got := read(p, opts, way, "stop"); !reflect.DeepEqual(got, whole) {
					t.Errorf("%s, cut %q\ngives %+v, want %+v", model, way, got, whole)
				}
			}
		}
	}
}

// TestCallsInBlocksGivenBack holds that text behind calls in blocks of code, which are no calls since it comes, is read
// alike however it is cut: whether it stands in a block itself, and what is a call in it.
func TestCallsInBlocksGivenBack(t *testing.T) {
	t.Parallel()
	offered := tools(t)
	const first = "```\n[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Oslo\"}```\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}</tool_call>\n```\n`"
	for _, behind := range []string{
		"so, [TOOL_CALLS]get_weather[ARGS]{\"city\": \"Bern\"}",
		"<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Bern\"}}]<|END_ACTION|>",
	} {
		opts := chain.Options{Tools: func() []abi.Tool { return offered }}
		want := read(plan("auto"), opts, []string{first + behind}, "stop")
		for _, way := range cuts(first + behind) {
			if got := read(plan("auto"), opts, way, "stop"); !reflect.DeepEqual(got, want) {
				t.Fatalf("cut %q\n got %+v\nwant %+v", way, got, want)
			}
		}
	}
}
