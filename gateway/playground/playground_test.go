package playground_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/playground"
	"github.com/callgate/callgate/gateway/playground/playgroundtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// tools are what all cases offer.
const tools = `[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]`

// TestGolden reads the texts of testdata and compares all that is noted, but for times.
func TestGolden(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d cases, %v", len(names), err)
	}
	bench := playground.New(playgroundtest.New())
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			t.Parallel()
			var in struct {
				playground.Input
				Cut string
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &in); err != nil {
				t.Fatal(err)
			}
			if in.Tools == "" {
				in.Tools = tools
			}
			cut := playground.Whole()
			if in.Cut == "bytes" {
				cut = playground.Bytes()
			}
			r, err := bench.Read(t.Context(), in.Input, cut)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.Chunks, ""); got != in.Text {
				t.Errorf("got the chunks %q, want the text %q", got, in.Text)
			}
			golden(t, strings.TrimSuffix(name, ".json")+".golden", print(r))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// print writes a reading as text, without what another run would not give again.
func print(r *playground.Reading) string {
	var b strings.Builder
	fmt.Fprintf(&b, "content %q\nreasoning %q\ncalls %s\nfinish %s\nparsers %v\nrepairs %v\nwarnings %v\n\n",
		r.Content, r.Reasoning, r.CallsJSON(), r.Finish, r.Result.Parsers, r.Repairs, r.Warnings)
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "chunk %d read %d %s %s %d %q %t [%d %d]\n", s.Chunk, s.Read, s.Who, s.Kind, s.Call, s.Text, s.Short, s.From, s.To)
	}
	b.WriteByte('\n')
	for _, p := range r.Places {
		fmt.Fprintf(&b, "byte %d %q passed %v\n", p.Offset, p.Head, p.Passed)
		for _, q := range p.Questions {
			fmt.Fprintf(&b, "  %s %s ×%d: %s %q %t\n", q.Parser, q.Verdict, q.Times, q.Outcome, q.Problems, q.Failed)
		}
	}
	fmt.Fprintf(&b, "more: %d steps, %d places; %d silent\n", r.MoreSteps, r.MorePlaces, len(r.Silent))
	return b.String()
}

// TestPlaces holds that each place is noted where it is, also behind text that repeats
// itself and is longer than what parsers are shown.
func TestPlaces(t *testing.T) {
	t.Parallel()
	call := `<tool_call>{"name": "get_weather", "arguments": {"city": "` + strings.Repeat("Oslo ", 100) + `"}}</tool_call>` + "\n"
	text := "é " + strings.Repeat(call, 5)
	bench := playground.New(playgroundtest.New())
	for _, cut := range []playground.Cut{playground.Whole(), playground.Bytes(), playground.Sixes(), playground.Random(1, 1)} {
		r, err := bench.Read(t.Context(), playground.Input{Text: text, Tools: tools, Parser: "hermes"}, cut)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Calls) != 5 || len(r.Places) != 5 {
			t.Fatalf("%s: got %d calls at %d places, want 5", cut.Name, len(r.Calls), len(r.Places))
		}
		for i, p := range r.Places {
			if want := len("é ") + i*len(call); p.Offset != want {
				t.Errorf("%s: got place %d at byte %d, want %d", cut.Name, i, p.Offset, want)
			}
		}
	}
}

// TestBounds holds that a text of which much can be said does not make notes without end.
func TestBounds(t *testing.T) {
	t.Parallel()
	bench := playground.New(playgroundtest.New())
	text := strings.Repeat(`<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call> and `, 1000)
	r, err := bench.Read(t.Context(), playground.Input{Text: text, Tools: tools}, playground.Sixes())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) > 400 || len(r.Places) > 100 || r.MorePlaces < 800 || r.MoreSteps == 0 {
		t.Errorf("got %d steps, %d places and %d and %d more, want 400, 100 and the rest counted", len(r.Steps), len(r.Places), r.MoreSteps, r.MorePlaces)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bench.Read(ctx, playground.Input{Text: text}, playground.Bytes()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v when the time is over, want that it is", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	bench := playground.New(playgroundtest.New())
	for want, in := range map[string]playground.Input{
		"the text has 1048577 bytes":   {Text: strings.Repeat("x", playground.MaxText+1)},
		"the tools have 262145 bytes":  {Tools: strings.Repeat(" ", playground.MaxTools+1)},
		"tools must be a JSON list":    {Tools: `{"name": "f"}`},
		`reasoning is "maybe"`:         {Reasoning: "maybe"},
		`finish reason is "tired"`:     {Finish: "tired"},
		`there is no parser "<script>`: {Parser: "<script>alert(1)</script>"},
	} {
		_, err := bench.Read(t.Context(), in, playground.Whole())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := bench.Compare(t.Context(), in, 1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("compare: got %v, want %s", err, want)
		}
	}
}

// TestCompare holds that a text which means the same in all cuts is said to, and one that
// does not is not.
func TestCompare(t *testing.T) {
	t.Parallel()
	bench := playground.New(playgroundtest.New())
	good := playground.Input{Text: "Let me.\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Tromsø\",}}</tool_call>", Tools: tools}
	c, err := bench.Compare(t.Context(), good, 7, 30)
	if err != nil || !c.Same() || len(c.Names) != 33 || c.Names[32] != "random, seed 7 number 30" {
		t.Errorf("got %+v, %v, want the same of 33 cuts", c, err)
	}
	uneven := playground.Input{Text: playgroundtest.Uneven + strings.Repeat("x", 100), Tools: tools, Parser: playgroundtest.Uneven}
	c, err = bench.Compare(t.Context(), uneven, 7, 5)
	if err != nil || c.Same() || c.Different != 7 || len(c.First) != 3 {
		t.Fatalf("got %+v, %v, want 7 cuts that differ and 3 of them shown", c, err)
	}
	part := c.First[0].Parts[0]
	if c.First[0].Cut != "byte by byte" || part.Name != "tool calls" || !strings.Contains(part.Want, `\"1\"`) || !strings.Contains(part.Got, `\"101\"`) && !strings.Contains(part.Got, `\"9`) {
		t.Errorf("got %+v, want the calls of both", c.First[0])
	}
	c, err = bench.Compare(t.Context(), playground.Input{Text: playgroundtest.Broken, Parser: playgroundtest.Broken}, 7, 50)
	if err != nil || c.Same() || c.Different != 0 || len(c.Names) != 0 || !strings.Contains(c.Stopped, "read whole, a parser failed (plugin:<broken>:error)") {
		t.Errorf("got %+v, %v, want that a parser which fails is not tried again", c, err)
	}
}

// FuzzRead holds that what is noted does not change what is read, that offsets are in the
// text, and that nothing panics.
func FuzzRead(f *testing.F) {
	f.Add("<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>", uint64(1), false)
	f.Add("<think>a</think>`<tool_call>` [TOOL_CALLS]get_weather[ARGS]{", uint64(2), true)
	bench := playground.New(playgroundtest.New())
	f.Fuzz(func(t *testing.T, text string, seed uint64, cut bool) {
		in := playground.Input{Text: text, Tools: tools}
		if cut {
			in.Finish = "length"
		}
		r, err := bench.Read(t.Context(), in, playground.Random(seed, 1))
		if err != nil {
			if len(text) > playground.MaxText {
				return
			}
			t.Fatal(err)
		}
		for _, s := range r.Steps {
			if s.From < 0 || s.From > s.To || s.To > s.Read || s.Read > len(text) {
				t.Fatalf("got step %+v of a text of %d bytes", s, len(text))
			}
		}
		for _, p := range r.Places {
			if p.Offset < 0 || p.Offset > len(text) || !strings.HasPrefix(strings.ToValidUTF8(text[p.Offset:], ""), p.Head) {
				t.Fatalf("got place %+v, where %.80q stands", p, text[p.Offset:])
			}
		}
		c, err := bench.Compare(t.Context(), in, seed, 2)
		if err != nil {
			t.Fatal(err)
		}
		if c.Different > 0 {
			t.Fatalf("got %+v", c.First)
		}
	})
}

// TestCompareStops holds that what was compared counts when the time is over.
func TestCompareStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	source := &ending{Source: playgroundtest.New(), after: 3, end: cancel}
	c, err := playground.New(source).Compare(ctx, playground.Input{Text: "hi", Parser: "none"}, 1, 10)
	if err != nil || c.Same() || c.Different != 0 || len(c.Names) != 2 || c.Asked != 13 || c.Stopped != "the time for one comparison was over" {
		t.Errorf("got %+v, %v, want 2 cuts and why there are no more", c, err)
	}
}

// ending ends the time at one of the readings.
type ending struct {
	*playgroundtest.Source
	plans, after int
	end          context.CancelFunc
}

func (e *ending) Plan(ctx context.Context, spec gateway.ParserSpec, model string) (*chain.Plan, gateway.ParserSession, error) {
	if e.plans++; e.plans == e.after {
		e.end()
	}
	return e.Source.Plan(ctx, spec, model)
}
