package meter

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// told is a meter that notes what it is told.
type told struct {
	came  []int
	ended gateway.Use
}

func (m *told) Begin(string, string, gateway.Purpose, int) error { return nil }
func (m *told) Came(n int)                                       { m.came = append(m.came, n) }
func (m *told) Ended(u gateway.Use)                              { m.ended = u }

type sink struct {
	n    int
	sent []byte
}

func (s *sink) Put(f *wire.Frame) {
	s.n++
	s.sent = f.AppendTo(s.sent)
}

// TestCame holds that what is held of a client's limits grows with a stream, chunk by chunk, and not behind a whole
// answer, which is settled at once: with limits in a Redis that would be one call more for each request.
func TestCame(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		frames []wire.Frame
		calls  int
		bytes  int
	}{
		{"whole", []wire.Frame{{Whole: true, Data: []byte(`{"choices":[{"index":0,"message":{"content":"twelve bytes"}}]}`)}}, 0, 12},
		{"stream", []wire.Frame{
			{Data: []byte(`{"choices":[{"index":0,"delta":{"content":"twelve bytes"}}]}`)},
			{Data: []byte(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)},
			{Data: []byte(`{"choices":[{"index":0,"delta":{"content":"four"}}]}`)},
		}, 2, 16},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			m, out := &told{}, &sink{}
			s, err := Maker{}.Begin(gateway.WithMeter(t.Context(), m), &gateway.AttemptInfo{Asked: req, Sent: req, Began: time.Now()}, &gateway.Outcome{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range row.frames {
				if err := s.Frame(&row.frames[i], out); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.End(io.EOF, out); err != nil {
				t.Fatal(err)
			}
			if len(m.came) != row.calls || m.ended.Came != row.bytes || out.n != len(row.frames) {
				t.Errorf("told of %v, in all %d, and %d frames went on; want %d calls, %d bytes and all", m.came, m.ended.Came, out.n, row.calls, row.bytes)
			}
		})
	}
}

// TestHidden holds that a client does not see the chunk that a stream has because only the gateway has asked for its
// usage, and that a usage in another chunk stays: upstreams that write it there do so without being asked, and
// clients of theirs read it there (../../../flow/testdata/recorded has such streams of two of them).
func TestHidden(t *testing.T) {
	t.Parallel()
	const asked = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`
	const silent = `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`
	const usage = `{"prompt_tokens":7,"completion_tokens":2}`
	for _, row := range []struct{ name, client, frame, want string }{
		{"last chunk", silent, "data: {\"choices\":[],\"usage\":" + usage + "}\n\n", ""},
		{"beside text", silent, "data: {\"usage\":" + usage + ", \"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
			"data: {\"usage\":" + usage + ", \"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"},
		{"beside the finish reason", silent, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":" + usage + "}\n\n",
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":" + usage + "}\n\n"},
		{"in a member of the vendor's", silent, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"x_groq\":{\"id\":\"req_1\",\"usage\":" + usage + "}}\n\n",
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"x_groq\":{\"id\":\"req_1\",\"usage\":" + usage + "}}\n\n"},
		{"asked for", asked, "data: {\"choices\":[{\"index\":0,\"delta\":{}}],\"usage\":" + usage + "}\n\n",
			"data: {\"choices\":[{\"index\":0,\"delta\":{}}],\"usage\":" + usage + "}\n\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			client, err := gateway.ParseRequest([]byte(row.client))
			if err != nil {
				t.Fatal(err)
			}
			sent, err := gateway.ParseRequest([]byte(asked))
			if err != nil {
				t.Fatal(err)
			}
			s, err := Maker{}.Begin(gateway.WithMeter(t.Context(), &told{}), &gateway.AttemptInfo{Asked: client, Sent: sent, Began: time.Now()}, &gateway.Outcome{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.(gateway.Witness).Sent(sent, wire.Pieces{}); err != nil {
				t.Fatal(err)
			}
			out := &sink{}
			b, err := wire.NewReader(strings.NewReader(row.frame), 0).Next()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Frame(&wire.Frame{Raw: b.Raw, Data: b.Data}, out); err != nil {
				t.Fatal(err)
			}
			if string(out.sent) != row.want {
				t.Errorf("the client got %s\nwant %s", out.sent, row.want)
			}
		})
	}
}

// TestSpoken holds that of an answer that is relayed what the model says is counted, and none of what stands
// around it, which is many times as much in a stream of single tokens.
func TestSpoken(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{
		`data: {"id":"text","object":"text_completion","choices":[{"text":"One","index":0,"logprobs":null}],"usage":null}` + "\n\ndata: [DONE]\n\n": 3,
		`{"choices": [ {"text" : "One\\\"two\\\\", "finish_reason":"text"}, {"text":""} ], "x":{"text":null,"y":"no"}}`:                             14,
		`data: {"choices":[{"delta":{"content":"One","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}`:                                 5,
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"One\"}\n\n":                                  3,
		`{"type":"content_block_delta","delta":{"type":"text_delta","text":"One"}}`:                                                                 3,
		`{"reasoning_content_of_another":"no","text":["no"],"text":7,"prompt":"text","a":"\u0022text\u0022:"}`:                                      0,
	} {
		for cut := range answer {
			var s spoken
			if got := s.count([]byte(answer[:cut])) + s.count([]byte(answer[cut:])); got != want {
				t.Fatalf("%s cut at %d: got %d bytes, want %d", answer, cut, got, want)
			}
		}
	}
}
