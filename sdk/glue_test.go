package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// echo gives everything back as content, and ends at an exclamation mark.
type echo struct{ pos int }

func (e *echo) Feed(text []byte, out *Out) {
	out.Content(text)
	if e.pos += len(text); strings.HasSuffix(string(text), "!") {
		out.End(e.pos)
	}
}

func (e *echo) Finish(_ Reason, out *Out) { out.End(e.pos) }

func newGuest() *guest {
	g := &guest{name: `a "test"`, version: "1.2.3"}
	g.register(Spec{
		Parser: abi.Parser{
			Name: "echo", Aliases: []string{"e", "é"}, Version: "9", Priority: 60, Formats: []string{"x\ny"},
			Triggers: []string{"<a>", "<b>"}, Starts: []string{"{"}, Models: []string{"*"}, Heuristic: true, Streams: true,
		},
		CanParse: func(head []byte) Verdict {
			if len(head) == 0 {
				return Maybe
			}
			return No
		},
		New: func(Options) (Parser, error) { return &echo{}, nil },
	})
	g.register(Spec{
		Parser: abi.Parser{Name: "strict", Priority: 1},
		New: func(o Options) (Parser, error) {
			if o.Settings == nil {
				return nil, errors.New("refused")
			}
			return &echo{}, nil
		},
	})
	return g
}

func TestManifest(t *testing.T) {
	t.Parallel()
	g := newGuest()
	dec := json.NewDecoder(strings.NewReader(string(g.manifest())))
	dec.DisallowUnknownFields()
	var got abi.Manifest
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := abi.Manifest{ABI: abi.Version, Name: g.name, Version: "1.2.3", Parsers: []abi.Parser{g.specs[0].Parser, g.specs[1].Parser}}
	want.Parsers[1].Version = "1.2.3" // the module's
	if !reflect.DeepEqual(got, want) {
		t.Errorf("manifest = %+v, want %+v", got, want)
	}
}

func TestRegisterPanics(t *testing.T) {
	t.Parallel()
	some := func(Options) (Parser, error) { return &echo{}, nil }
	for want, spec := range map[string]Spec{
		"spec 2 has no Name":              {New: some},
		"parser x has no New":             {Parser: abi.Parser{Name: "x"}},
		"parser echo is registered twice": {Parser: abi.Parser{Name: "echo"}, New: some},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasSuffix(got, want) {
					t.Errorf("panic = %q, want %q", got, want)
				}
			}()
			newGuest().register(spec)
		}()
	}
}

func decode(t *testing.T, b []byte) []Event {
	t.Helper()
	events, err := abi.DecodeEvents(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestRegion(t *testing.T) {
	t.Parallel()
	g := newGuest()
	id := g.open(0, nil)
	if id != 0 {
		t.Fatalf("open = %d, want 0", id)
	}
	got := decode(t, g.feed(id, []byte("ab")))
	if want := []Event{{Kind: abi.Content, Text: "ab"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("feed gives %v, want %v", got, want)
	}
	got = decode(t, g.finish(id, Stop))
	if want := []Event{{Kind: abi.End, To: 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("finish gives %v, want %v", got, want)
	}
	if got := g.finish(id, Stop); len(got) != 0 {
		t.Errorf("finish after the end gives %v, want nothing", got)
	}
	if got := g.feed(id, []byte("x")); len(got) != 0 {
		t.Errorf("feed after the end gives %v, want nothing", got)
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	g := newGuest()
	first, second := g.open(0, nil), g.open(0, nil)
	if first == second {
		t.Fatalf("two handles are %d", first)
	}
	g.feed(first, []byte("!"))
	g.close(first)
	g.close(first) // closing twice must not free the handle twice
	for _, id := range []int32{first, -1, 99} {
		if got := g.feed(id, []byte("x")); len(got) != 0 {
			t.Errorf("feed on handle %d gives %v, want nothing", id, got)
		}
		if got := g.finish(id, Length); len(got) != 0 {
			t.Errorf("finish on handle %d gives %v, want nothing", id, got)
		}
		g.close(id)
	}
	if got := g.open(0, nil); got != first {
		t.Errorf("handle after close = %d, want %d again", got, first)
	}
	if got := g.open(0, nil); got == first || got == second {
		t.Errorf("third handle = %d, which is open", got)
	}
	if got := decode(t, g.feed(first, []byte("y"))); len(got) != 1 {
		t.Errorf("feed on the reused handle gives %v, want one event", got)
	}
}

func TestOpenCodes(t *testing.T) {
	t.Parallel()
	g := newGuest()
	for _, tt := range []struct {
		name    string
		parser  int32
		options []byte
		want    int32
	}{
		{"unknown parser", 2, nil, abi.OpenUnknownParser},
		{"negative parser", -1, nil, abi.OpenUnknownParser},
		{"undecodable options", 0, []byte{1}, abi.OpenBadOptions},
		{"refused options", 1, nil, abi.OpenBadOptions},
		{"accepted options", 1, abi.AppendOptions(nil, Options{Settings: []abi.Setting{{Key: "a"}}}), 0},
	} {
		if got := g.open(tt.parser, tt.options); got != tt.want {
			t.Errorf("%s: open = %d, want %d", tt.name, got, tt.want)
		}
	}
	for range maxHandles - 1 {
		g.open(0, nil)
	}
	if got := g.open(0, nil); got != abi.OpenTooMany {
		t.Errorf("open with all handles taken = %d, want %d", got, abi.OpenTooMany)
	}
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	g := newGuest()
	for _, tt := range []struct {
		parser int32
		head   string
		want   Verdict
	}{{0, "", Maybe}, {0, "x", No}, {1, "x", Yes}, {2, "x", No}, {-1, "x", No}} {
		if got := g.canParse(tt.parser, []byte(tt.head)); got != tt.want {
			t.Errorf("canParse(%d, %q) = %d, want %d", tt.parser, tt.head, got, tt.want)
		}
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	g := newGuest()
	if got := g.input(0, 1); got != nil {
		t.Errorf("input before alloc = %v, want nil", got)
	}
	copy(g.alloc(3), "abc")
	copy(g.alloc(2), "xy")
	for _, tt := range []struct {
		at   uint64
		n    int32
		want string
	}{{0, 3, "xyc"}, {1, 1, "y"}, {0, 0, ""}, {0, -1, ""}, {1 << 31, 1, ""}, {1, abi.MaxFeed, ""}, {1<<64 - 1, 2, ""}} {
		if got := string(g.input(tt.at, tt.n)); got != tt.want {
			t.Errorf("input(%d, %d) = %q, want %q", tt.at, tt.n, got, tt.want)
		}
	}
	for _, n := range []int32{-1, maxInput + 1} {
		if got := g.alloc(n); got != nil {
			t.Errorf("alloc(%d) has %d bytes, want nil", n, len(got))
		}
	}
	if got := len(g.alloc(abi.MaxFeed * 2)); got != abi.MaxFeed*2 {
		t.Errorf("alloc gives %d bytes, want %d", got, abi.MaxFeed*2)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	tools := []Tool{{Name: "a"}, {Name: "b", Params: []Param{{Name: "x"}, {Name: "y", Types: abi.Null}}}}
	if got := FindTool(tools, "b"); got != &tools[1] {
		t.Errorf("FindTool = %v, want the second", got)
	}
	if got := FindTool(tools, "c"); got != nil {
		t.Errorf("FindTool of an unknown name = %v, want nil", got)
	}
	if got := FindParam(&tools[1], "y"); got == nil || got.Types != abi.Null {
		t.Errorf("FindParam = %v, want y", got)
	}
	if got := FindParam(nil, "y"); got != nil {
		t.Errorf("FindParam without a tool = %v, want nil", got)
	}
}

// big writes all that it has read at once, when the output ends: every byte as six.
type big struct{ raw []byte }

func (b *big) Feed(text []byte, _ *Out) { b.raw = append(b.raw, text...) }

func (b *big) Finish(_ Reason, out *Out) {
	out.CallStart("f", "")
	out.Args(relaxed.AppendString(nil, b.raw))
	out.CallEnd()
	out.End(len(b.raw))
}

// TestLongArguments has arguments that are longer than the text of one event may be.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	for _, n := range []int{(abi.MaxText - 2) / 6, abi.MaxText/6 + 1, 1 << 20} {
		g := &guest{}
		g.register(Spec{Parser: abi.Parser{Name: "big"}, New: func(Options) (Parser, error) { return &big{}, nil }})
		id := g.open(0, nil)
		text := bytes.Repeat([]byte{1}, n)
		g.feed(id, text)
		events, err := abi.DecodeEvents(nil, g.finish(id, Stop))
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
			continue
		}
		args := ""
		for _, e := range events {
			args += e.Text
		}
		if want := relaxed.Quote(string(text)); args != want {
			t.Errorf("%d bytes: got arguments of %d bytes, want %d", n, len(args), len(want))
		}
	}
}
