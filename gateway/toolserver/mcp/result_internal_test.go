package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/gateway/toolserver"
)

// FuzzRead holds that whatever a server sends, a result is text within its bounds, or an error.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"a"},null,{"type":"resource","resource":{"text":"b"}},{"type":"image"},{"type":7}]}`,
		`{"structuredContent":null}`, `{"resultType":"input_required"}`, `null`, `[]`, `{"content":[{"type":"text","text":"\ud800"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := read(raw)
		if err != nil {
			return
		}
		if len(r.Text) > maxText || !utf8.ValidString(r.Text) || len(r.Structured) > maxText || r.Cut < 0 || len(r.Dropped) > 8 {
			t.Errorf("got %+v", r)
		}
	})
}

// TestLasting holds that the end of a stream of notifications is none to the SDK, which would end
// the session with all its calls, until the session itself ends; and that one without end is left.
func TestLasting(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"ended": "data: x\n\n", "endless": strings.Repeat("y", 2*maxStream)} {
		ctx, cancel := context.WithCancel(t.Context())
		l := &lasting{ctx: ctx, body: io.NopCloser(strings.NewReader(body)), left: maxStream, cancel: cancel}
		read, buf := 0, make([]byte, 1<<20)
		for read < min(len(body), maxStream) {
			n, err := l.Read(buf)
			if err != nil {
				t.Fatalf("%s: got %v after %d bytes", name, err, read)
			}
			read += n
		}
		cancel()
		if n, err := l.Read(buf); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %d bytes, %v, want the end of the session", name, n, err)
		}
	}
}

// TestOnlyTasks holds that a tool which refuses plain calls is not offered, and is said to be missing.
func TestOnlyTasks(t *testing.T) {
	t.Parallel()
	page := json.RawMessage(`{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
		{"name":"both","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"plain","inputSchema":{"type":"object"}}]}`)
	var out toolserver.Listing
	if err := add(&out, page, []*sdk.Tool{{Name: "slow"}, {Name: "both"}, {Name: "plain"}}); err != nil {
		t.Fatal(err)
	}
	if len(out.Tools) != 2 || len(out.Refused) != 1 || out.Refused[0].Tool != "slow" {
		t.Errorf("got %+v, refused %+v; want the tool slow refused", out.Tools, out.Refused)
	}
}
