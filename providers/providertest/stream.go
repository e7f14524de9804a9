package providertest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

const (
	chunk1 = `{"id":"c","unknown":1.0,"choices":[{"index":0,"delta":{"role":"assistant","content":"<h"},"finish_reason":null}]}`
	chunk2 = `{"id":"c","choices":[{"index":0,"delta":{"content":"\"finish_reason\":\"stop\""},"finish_reason": null}]}`
	last   = `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason" : "stop"}]}`
)

func streamCases() []testCase {
	return []testCase{
		{"stream", "The frames of a stream, joined, are exactly the upstream's bytes.", streamExact},
		{"stream byte by byte", "However a stream is cut on the way, its frames are the same.", streamSlow},
		{"stream of a large line", "A chunk of 10 MB comes back as it is.", streamLarge},
		{"stream without the last blank line", "The last frame is whole, whatever line ends the upstream saved.", streamUnended},
		{"stream with gzip", "A compressed stream is decoded chunk by chunk.", streamCompressed},
		{"stream frame by frame", "A frame comes as soon as it is there, and says whether another one is.", streamAtOnce},
	}
}

// streams are whole ones with the data that they hold.
var streams = []struct {
	name, raw string
	data      []string
	done      bool
}{
	{"lf", "data: " + chunk1 + "\n\ndata: " + chunk2 + "\n\ndata: " + last + "\n\ndata: [DONE]\n\n", []string{chunk1, chunk2, last}, true},
	{"crlf", "data: " + chunk1 + "\r\n\r\ndata: " + last + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{chunk1, last}, true},
	{"cr", "data: " + chunk1 + "\r\rdata: " + last + "\r\rdata: [DONE]\r\r", []string{chunk1, last}, true},
	{"no space", "data:" + chunk1 + "\n\ndata:" + last + "\n\ndata:[DONE]\n\n", []string{chunk1, last}, true},
	{"byte order mark, comments, fields", "\xEF\xBB\xBF: hello\n\nevent: m\nid: 7\ndata: " + chunk1 + "\n\n: ping\n\n\nretry: 3\n\ndata: " + last + "\n\ndata: [DONE]\n\n", []string{chunk1, last}, true},
	{"data in two lines", "data: {\"id\":\ndata: 1}\n\ndata: " + last + "\n\ndata: [DONE]\n\n", []string{"{\"id\":\n1}", last}, true},
	{"no end marker", "data: " + chunk1 + "\n\ndata: " + last + "\n\n", []string{chunk1, last}, false},
	{"error, then an end marker", "data: {\"error\":{\"message\":\"overloaded\"}}\n\ndata: [DONE]\n\n", []string{`{"error":{"message":"overloaded"}}`}, true},
}

func wantStream(t *testing.T, reply gateway.Reply, raw string, data []string, done bool) {
	t.Helper()
	if !reply.Streamed() {
		t.Error("got a whole answer, want a stream")
	}
	got := drain(reply)
	if got.err != io.EOF || got.done != done || got.after {
		t.Errorf("got error %v, end marker %v, frames behind it %v, want EOF, %v, none", got.err, got.done, got.after, done)
	}
	if got.raw != raw {
		t.Errorf("raw\n got %.300q\nwant %.300q", got.raw, raw)
	}
	if strings.Join(got.data, "\x00") != strings.Join(data, "\x00") {
		t.Errorf("data\n got %.300q\nwant %.300q", got.data, data)
	}
	if _, err := reply.Next(); err != io.EOF {
		t.Errorf("Next behind the end: got %v, want EOF", err)
	}
}

func streamExact(t *testing.T, f Factory) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, f, Settings{BaseURL: events(t, s.raw)})
			wantStream(t, chat(t.Context(), t, p, streamRequest(t)), s.raw, s.data, s.done)
			// Also if nobody asked for a stream.
			wantStream(t, chat(t.Context(), t, p, plainRequest(t)), s.raw, s.data, s.done)
		})
	}
}

func streamSlow(t *testing.T, f Factory) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, f, Settings{BaseURL: events(t, strings.Split(s.raw, "")...)})
			wantStream(t, chat(t.Context(), t, p, streamRequest(t)), s.raw, s.data, s.done)
		})
	}
}

func streamLarge(t *testing.T, f Factory) {
	large := `{"content":"` + strings.Repeat("x", 10<<20) + `"}`
	raw := "data: " + chunk1 + "\n\ndata: " + large + "\n\ndata: " + last + "\n\ndata: [DONE]\n\n"
	p := open(t, f, Settings{BaseURL: events(t, raw)})
	wantStream(t, chat(t.Context(), t, p, streamRequest(t)), raw, []string{chunk1, large, last}, true)
}

func streamUnended(t *testing.T, f Factory) {
	const start = "data: " + chunk1 + "\n\n"
	for _, tt := range []struct {
		end, add string
		data     []string
		done     bool
	}{
		{"data: [DONE]", "\n\n", []string{chunk1}, true},
		{"data: [DONE]\n", "\n", []string{chunk1}, true},
		{"data: " + last + "\n", "\n", []string{chunk1, last}, false},
		{"data: " + last, "\n\n", []string{chunk1, last}, false},
	} {
		p := open(t, f, Settings{BaseURL: events(t, start+tt.end)})
		wantStream(t, chat(t.Context(), t, p, streamRequest(t)), start+tt.end+tt.add, tt.data, tt.done)
	}
}

func streamCompressed(t *testing.T, f Factory) {
	next := make(chan struct{})
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for _, data := range []string{chunk1, last, "[DONE]"} {
			io.WriteString(z, "data: "+data+"\n\n")
			z.Flush()
			w.Write(b.Bytes())
			w.(http.Flusher).Flush()
			b.Reset()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
		z.Close()
		w.Write(b.Bytes())
	})
	reply := chat(t.Context(), t, open(t, f, Settings{BaseURL: url}), streamRequest(t))
	for _, want := range []string{chunk1, last, ""} {
		got, err := reply.Next() // before the upstream goes on
		if err != nil || string(got.Data) != want {
			t.Fatalf("got %q, %v, want %q", got.Data, err, want)
		}
		next <- struct{}{}
	}
}

func streamAtOnce(t *testing.T, f Factory) {
	next := make(chan struct{})
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{": ping\n\n", "data: " + chunk1 + "\n\n", "data: " + chunk2 + "\n\ndata: " + last + "\n\n"} {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
	})
	reply := chat(t.Context(), t, open(t, f, Settings{BaseURL: url}), streamRequest(t))
	for _, want := range []struct {
		data string
		more bool
		next bool
	}{{"", false, true}, {chunk1, false, true}, {chunk2, true, false}, {last, false, true}} {
		got, err := reply.Next()
		if err != nil || string(got.Data) != want.data || got.More != want.more {
			t.Fatalf("got %q, more %v, %v, want %q, more %v", got.Data, got.More, err, want.data, want.more)
		}
		if want.next {
			next <- struct{}{}
		}
	}
	if _, err := reply.Next(); err != io.EOF {
		t.Errorf("got %v, want EOF: a finish reason came", err)
	}
}
