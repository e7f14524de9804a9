package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/gateway/wire"
)

// chunks are the kinds of chunks that make up nearly all of a stream.
var chunks = map[string][]string{
	"text":      {delta(`{"content":"Hello"}`), delta(`{"content":" wor\n"}`)},
	"thoughts":  {delta(`{"content":null,"reasoning_content":"Hello"}`), delta(`{"content":null,"reasoning_content":" world"}`)},
	"arguments": {call(0, "", "", `"a`), call(0, "", "", `b`)},
}

// TestAllocations holds that a chunk of a stream takes no memory.
func TestAllocations(t *testing.T) {
	for kind, pair := range chunks {
		w, next := feeder(t, pair)
		var out []byte
		if n := testing.AllocsPerRun(200, func() { out, _ = w.Frame(out[:0], next()) }); n > 0 {
			t.Errorf("a chunk of %s takes %.1f allocations, want none", kind, n)
		}
	}
}

// TestAllocationsOfPassage holds that an event of an upstream of the Messages API that goes on as it came takes no memory.
func TestAllocationsOfPassage(t *testing.T) {
	for kind, e := range map[string][3]string{
		"text":      {`{"type":"text","text":""}`, `{"type":"text_delta","text":"x"}`, `{"content":"x"}`},
		"thoughts":  {`{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"x"}`, `{"reasoning_content":"x"}`},
		"arguments": {`{"type":"tool_use","id":"c","name":"f","input":{}}`, `{"type":"input_json_delta","partial_json":"["}`, `{"tool_calls":[{"index":0,"function":{"arguments":"["}}]}`},
	} {
		w, _ := writerOf(t, thinks, true)
		n, shape := 0, &wire.Shape{}
		f := &wire.Frame{}
		next := func(event, chunk string) *wire.Frame {
			n++
			flat, _ := wire.AppendFlat(nil, []byte(event))
			came := wire.EventFrom(wire.AppendOrigin(nil, wire.Origin{Number: n, Data: flat}), []byte(chunk))
			shape.Read(f, came.Raw, came.Data)
			return f
		}
		var out []byte
		give := func(f *wire.Frame) { out, _ = w.Frame(out[:0], f) }
		give(next("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{}}}\n\n", delta(`{"content":""}`)))
		give(next("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"+e[0]+"}\n\n", call(0, "c", "f", "")))
		event := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":" + e[1] + "}\n\n"
		var frames []*wire.Frame
		for range 300 {
			frames = append(frames, next(event, delta(e[2])).Copy())
		}
		for range 9 {
			give(frames[0])
			frames = frames[1:]
		}
		if string(out) != event {
			t.Errorf("%s: got %q", kind, out)
		}
		if n := testing.AllocsPerRun(200, func() { give(frames[0]); frames = frames[1:] }); n > 0 {
			t.Errorf("a delta of %s takes %.1f allocations, want none", kind, n)
		}
		if string(out) != event {
			t.Errorf("%s: got %q", kind, out)
		}
	}
}

// feeder is a writer that is in the midst of a stream, and what gives its next frame.
func feeder(tb testing.TB, pair []string) (protocol.Writer, func() *wire.Frame) {
	tb.Helper()
	w, _ := writerOf(tb, thinks, true)
	return w, begun(w, pair)
}

func begun(w protocol.Writer, pair []string) func() *wire.Frame {
	f, shape := &wire.Frame{}, &wire.Shape{}
	var raws [][]byte
	for _, c := range pair {
		raws = append(raws, []byte("data: "+c+"\n\n"))
	}
	n := 0
	next := func() *wire.Frame {
		raw := raws[n%len(raws)]
		n++
		shape.Read(f, raw, raw[len("data: "):len(raw)-2])
		return f
	}
	if strings.Contains(pair[0], "arguments") {
		_, _ = w.Frame(nil, &wire.Frame{Data: []byte(call(0, "c", "f", `{"x":`))})
	}
	for range 4 {
		_, _ = w.Frame(nil, next())
	}
	return next
}

func BenchmarkFrame(b *testing.B) {
	for kind, pair := range chunks {
		b.Run(kind+"/messages", func(b *testing.B) {
			w, next := feeder(b, pair)
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				out, _ = w.Frame(out[:0], next())
			}
		})
		b.Run(kind+"/chat", func(b *testing.B) {
			var out []byte
			w := chat.NewWriter(&gateway.Response{Summary: &gateway.Summary{}, Reply: reply{}})
			next := begun(w, pair)
			b.ReportAllocs()
			for b.Loop() {
				out, _ = w.Frame(out[:0], next())
			}
		})
	}
}

type reply struct{ gateway.Reply }

func (reply) Streamed() bool { return true }

// BenchmarkParse has a request of the size of Claude Code's.
func BenchmarkParse(b *testing.B) {
	tools := make([]string, 24)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"t%d","description":%q,"input_schema":{"type":"object","properties":{"a":{"type":"string"}}}}`, i, strings.Repeat("What it does. ", 200))
	}
	body := `{"model":"m","max_tokens":9,"stream":true,"tools":[` + strings.Join(tools, ",") + `],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`
	b.Run("messages", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			f, err := parse(body)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := gateway.ParseRequest(f.Chat()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("chat", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := gateway.ParseRequest([]byte(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
	f, _ := parse(body)
	b.Run("estimate", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			f.Estimate()
		}
	})
}
