package anthropic_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
)

// errorText is what a client is told about an error, in lines.
func errorText(err error) string {
	if err == nil || err == io.EOF {
		return ""
	}
	e := gateway.AsError(err)
	s := fmt.Sprintf("%d %s, retryable %v\n%s\n", e.HTTPStatus(), e.CodeOrDefault(), e.Retryable(), e.Message)
	if e.Body != nil {
		s += string(e.Body) + "\n"
	}
	return s
}

// streamed is what comes of a stream of the upstream's.
func streamed(t *testing.T, sse io.Reader, body string) []txtar.File {
	t.Helper()
	d, err := ask(t, open(t, answering("text/event-stream", sse)), body)
	return []txtar.File{
		{Name: "openai.sse", Data: []byte(timeless(d.raw))},
		{Name: "warnings", Data: []byte(d.warnings)},
		{Name: "error", Data: []byte(errorText(err))},
	}
}

// TestStream translates streams. A section "request" is the client's request.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "stream") {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			body := streamBody
			if own := g.part("request"); own != "" {
				body = own
			}
			g.want(t, streamed(t, strings.NewReader(g.part("anthropic.sse")), body)...)
		})
	}
}

// TestStreamCut checks that the same comes out however a stream is cut on its way,
// and whatever line ends it has.
func TestStreamCut(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "stream") {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			text := g.part("anthropic.sse")
			want := render(streamed(t, strings.NewReader(text), streamBody))
			check := func(name string, r io.Reader) {
				if got := render(streamed(t, r, streamBody)); got != want {
					t.Errorf("%s:\n got %s\nwant %s", name, got, want)
				}
			}
			check("byte by byte", iotest.OneByteReader(strings.NewReader(text)))
			for i := 0; i < len(text); i += 1 + len(text)/200 {
				check(fmt.Sprint("cut at ", i), io.MultiReader(strings.NewReader(text[:i]), strings.NewReader(text[i:])))
			}
			if !strings.Contains(text, "\n:") { // a comment passes with its line end
				check("CRLF", strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")))
			}
		})
	}
}

func render(files []txtar.File) string { return string(txtar.Format(&txtar.Archive{Files: files})) }

// TestStreamAtOnce checks that a frame comes as soon as it is there, and that the
// frame in front of a wait says so, also when what is here already gives no frame.
func TestStreamAtOnce(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer r.Close()
	p := open(t, answering("text/event-stream", r))
	reply, err := p.Chat(t.Context(), model, request(t, streamBody))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	const start = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
	text := func(s string) string {
		return `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}` + "\n\n"
	}
	const stop = `data: {"type":"content_block_stop","index":0}` + "\n\n"
	for _, step := range []struct {
		write string
		want  []string // a + behind one that another follows at once
	}{
		{`data: {"type":"message_start","message":{"id":"m"}}` + "\n\n", []string{`"role"`}},
		{start + text("a"), []string{`"a"`}},
		{text("b") + text("c"), []string{`"b"+`, `"c"`}},
		{text("d") + stop, []string{`"d"`}},
		{"data: {\"type\":\"ping\"}\n\n", []string{": ping"}},
	} {
		go io.WriteString(w, step.write)
		for _, want := range step.want {
			f, err := reply.Next()
			want, more := strings.CutSuffix(want, "+")
			if err != nil || !strings.Contains(string(f.Raw), want) || f.More != more {
				t.Fatalf("got %q, more %v, %v, want %s, more %v", f.Raw, f.More, err, want, more)
			}
		}
	}
}

// TestStreamBounds checks that a hostile stream of open blocks comes to an end, and
// that what is kept of blocks is bounded while their text still flows.
func TestStreamBounds(t *testing.T) {
	t.Parallel()
	t.Run("open blocks", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&b, `data: {"type":"content_block_start","index":%d,"content_block":{"type":"thinking"}}`+"\n\n", i)
		}
		_, err := ask(t, open(t, answering("text/event-stream", strings.NewReader(b.String()))), streamBody)
		if e := gateway.AsError(err); err == nil || e.Kind != gateway.Unavailable || !strings.Contains(e.Message, "too many blocks") {
			t.Errorf("got %v, want an error about too many blocks", err)
		}
	})
	t.Run("long thinking", func(t *testing.T) {
		t.Parallel()
		piece := strings.Repeat("x", 1<<20)
		delta := `data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"` + piece + `"}}` + "\n\n"
		text := `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}` + "\n\n" + strings.Repeat(delta, 20) +
			`data: {"type":"content_block_stop","index":0}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
		d, err := ask(t, open(t, answering("text/event-stream", strings.NewReader(text))), streamBody)
		if err != nil || !d.done {
			t.Fatalf("got %v, end marker %v, want a whole stream", err, d.done)
		}
		if n := strings.Count(d.raw, piece); n != 20 || strings.Contains(d.raw, "thinking_blocks") {
			t.Errorf("got %d pieces of reasoning, want 20 and no thinking_blocks", n)
		}
		if d.warnings != "dropped:thinking_blocks" {
			t.Errorf("got the warnings %q, want that the block was dropped", d.warnings)
		}
	})
	t.Run("many thoughts", func(t *testing.T) {
		t.Parallel()
		text := `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n\n" +
			`data: {"type":"content_block_stop","index":0}` + "\n\n"
		d, err := ask(t, open(t, answering("text/event-stream", strings.NewReader(strings.Repeat(text, 40)+endEvents))), streamBody)
		if n := strings.Count(d.raw, "thinking_blocks"); err != nil || n != 40 || d.warnings != "" {
			t.Errorf("got %d thinking blocks, warnings %q, %v, want 40 that are not at fault for one another", n, d.warnings, err)
		}
	})
}
