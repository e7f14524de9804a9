package wire_test

import (
	"fmt"
	"testing"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// TestChangedFrameHasNoOrigins holds that a frame which was changed goes out without what it was made of: who reads
// it again would take the upstream's events for what they have become.
func TestChangedFrameHasNoOrigins(t *testing.T) {
	t.Parallel()
	origins := wire.AppendOrigin(nil, wire.Origin{Number: 1, Data: []byte(`{"type":"a","delta":"was"}`)})
	origins = wire.AppendOrigin(origins, wire.Origin{Number: 2})
	const chunk = `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"was"},"finish_reason":null}]}`
	came := wire.EventFrom(origins, []byte(chunk))
	if list := came.Origins(); len(list) != 2 || list[0].Number != 1 || string(list[0].Data) != `{"type":"a","delta":"was"}` || list[1].Number != 2 || list[1].Data != nil {
		t.Fatalf("got %v", list)
	}
	if got := string(came.AppendTo(nil)); got != string(came.Raw) {
		t.Errorf("unchanged: got %q", got)
	}
	came.Choices()
	came.Change(0).PutText([]abi.Event{{Kind: abi.Content, Text: "is"}}, "")
	const want = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"is"},"finish_reason":null}]}` + "\n\n"
	if got := string(came.AppendTo(nil)); got != want {
		t.Errorf("changed: got %q, want %q", got, want)
	}

	// Comments of the upstream's own stay.
	other := wire.Frame{Raw: []byte(": from 1\n:from x\ndata: " + chunk + "\n\n")}
	other.Data = other.Raw[len(": from 1\n:from x\ndata: ") : len(other.Raw)-2]
	other.Choices()
	other.Change(0).PutText([]abi.Event{{Kind: abi.Content, Text: "is"}}, "")
	if got := string(other.AppendTo(nil)); got != ": from 1\n:from x\n"+want {
		t.Errorf("got %q", got)
	}
}

// TestFlat has blocks of streams put on one line and back.
func TestFlat(t *testing.T) {
	t.Parallel()
	for _, block := range []string{"event: a\ndata: {}\n\n", "event:a\r\ndata:{}\r\n\r\n", ": x\n\n", "data: {\ndata: }\n\n", ""} {
		flat, ok := wire.AppendFlat([]byte("x"), []byte(block))
		if got := string(wire.AppendUnflat(nil, flat[1:])); !ok || got != block {
			t.Errorf("got %q, %v, of %q", got, ok, block)
		}
		f := wire.EventFrom(wire.AppendOrigin(nil, wire.Origin{Number: 7, Data: flat[1:]}), []byte("{}"))
		if list := f.Origins(); len(list) != 1 || list[0].Number != 7 || string(list[0].Data) != string(flat[1:]) {
			t.Errorf("got %v of %q", list, block)
		}
		var lines []string
		for rest := flat[1:]; len(rest) > 0; {
			var line []byte
			line, rest = wire.CutFlat(rest)
			lines = append(lines, string(line))
		}
		if block == "event:a\r\ndata:{}\r\n\r\n" && fmt.Sprint(lines) != "[event:a data:{} ]" {
			t.Errorf("got the lines %q", lines)
		}
	}
	if _, ok := wire.AppendFlat(nil, []byte("data: \x1e\n\n")); ok {
		t.Error("a block was taken that cannot come back")
	}
}

// TestChunk holds that what a frame was made of is no part of its chunk.
func TestChunk(t *testing.T) {
	t.Parallel()
	data := []byte(`{"x":1}`)
	lines := wire.AppendOrigin(wire.AppendOrigin(nil, wire.Origin{Number: 1, Data: []byte(`{"type":"a"}`)}), wire.Origin{Number: 2})
	for name, origins := range map[string][]byte{"none": nil, "two": lines} {
		f := wire.EventFrom(origins, data)
		if got := string(f.Chunk()); got != "data: {\"x\":1}\n\n" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	comment := wire.Frame{Raw: []byte(": fromage\n\n")}
	if got := string(comment.Chunk()); got != ": fromage\n\n" {
		t.Errorf("got %q", got)
	}
}
