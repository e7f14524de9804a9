package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// failure is the error of a request, wherever it comes; nil if there is none.
func failure(t *testing.T, p *upstream.Client, stream bool) (blocks int, e *gateway.Error) {
	t.Helper()
	resp, err := p.Do(t.Context(), upstream.Request{URL: p.URL("chat"), Stream: stream})
	if err == nil && resp.Stream != nil {
		defer resp.Stream.Close()
		for ; err == nil; blocks++ {
			b, next := resp.Stream.Next()
			if err = next; len(b.Data) > 0 {
				resp.Stream.Started()
			}
		}
	}
	errors.As(err, &e)
	return blocks, e
}

// ticking writes a piece every millisecond for as long as somebody reads.
func ticking(w http.ResponseWriter, r *http.Request, piece string) {
	for r.Context().Err() == nil {
		io.WriteString(w, piece)
		w.(http.Flusher).Flush()
		time.Sleep(time.Millisecond)
	}
}

// TestSwitchedProtocols has an upstream answer with 101 and say nothing more: that is not awaited.
func TestSwitchedProtocols(t *testing.T) {
	t.Parallel()
	p := open(t, upstream.Config{Timeouts: upstream.Timeouts{Total: 10 * time.Second}}, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		io.Copy(io.Discard, c) // until the client has gone
	})
	for _, stream := range []bool{false, true} {
		_, e := failure(t, p, stream)
		if e == nil || e.Kind != gateway.Unavailable || !strings.Contains(e.Message, "101") {
			t.Errorf("stream %v: got %v, want an upstream that is unavailable and its status", stream, e)
		}
	}
}

// TestCommentsForEver has an upstream send nothing but comments behind its first chunk.
func TestCommentsForEver(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{"one at a time": ": ping\n\n", "many": strings.Repeat(": ping\n\n", 1000), "with an event": "event: ping\n\n", "blank data": "data:  \n\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, upstream.Config{Timeouts: upstream.Timeouts{Comments: 200 * time.Millisecond, Total: 20 * time.Second}}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, "data: {\"a\":1}\n\n")
				ticking(w, r, piece)
			})
			blocks, e := failure(t, p, true)
			if e == nil || e.Kind != gateway.Timeout || !strings.Contains(e.Message, "nothing but comments for 200ms (timeouts.comments)") || blocks < 3 {
				t.Errorf("got %v behind %d blocks, want the timer of comments", e, blocks)
			}
		})
	}
	t.Run("chunks between", func(t *testing.T) {
		t.Parallel()
		p := open(t, upstream.Config{Timeouts: upstream.Timeouts{Comments: 10 * time.Second, Total: 400 * time.Millisecond}}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			ticking(w, r, ": ping\n\ndata: {\"a\":1}\n\n: ping\n\n")
		})
		if _, e := failure(t, p, true); e == nil || !strings.Contains(e.Message, "timeouts.total") {
			t.Errorf("got %v, want no timer but that of the whole", e)
		}
	})
}

// TestStreamForEver has an upstream send a stream without an end, as fast as it can.
func TestStreamForEver(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	piece := "data: {\"a\":\"" + strings.Repeat("x", 980) + "\"}\n\n"
	p := open(t, upstream.Config{MaxStream: limit, Timeouts: upstream.Timeouts{Total: 20 * time.Second}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			io.WriteString(w, piece)
		}
	})
	for _, stream := range []bool{false, true} {
		blocks, e := failure(t, p, stream)
		if e == nil || !strings.Contains(e.Message, "longer than 100000 bytes (max_stream)") || blocks > limit/900 {
			t.Errorf("got %v behind %d blocks, want the limit", e, blocks)
		}
	}
}

// TestWholeAnswerHangs has upstreams that send no whole answer, or only its beginning.
func TestWholeAnswerHangs(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"silent": "", "in the body": `{"a":`, "with blanks": " "} {
		for _, stream := range []bool{false, true} {
			if stream && begin == "" {
				continue // the timer of the first token counts
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := open(t, upstream.Config{Timeouts: upstream.Timeouts{Whole: 100 * time.Millisecond, Total: 20 * time.Second}}, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", "application/json")
					if begin == " " {
						ticking(w, r, begin)
					} else if begin != "" {
						io.WriteString(w, begin)
						w.(http.Flusher).Flush()
					}
					<-r.Context().Done()
				})
				_, e := failure(t, p, stream)
				if e == nil || e.Kind != gateway.Timeout || !strings.Contains(e.Message, "no complete answer within 100ms (timeouts.whole)") {
					t.Errorf("stream %v: got %v, want the timer of whole answers", stream, e)
				}
			})
		}
	}
	t.Run("not behind the total", func(t *testing.T) {
		t.Parallel()
		p := open(t, upstream.Config{Timeouts: upstream.Timeouts{Total: 200 * time.Millisecond}}, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		if _, e := failure(t, p, false); e == nil || !strings.Contains(e.Message, "within 200ms (timeouts.total)") {
			t.Errorf("got %v, want the timer of the attempt", e)
		}
	})
	t.Run("a stream has none", func(t *testing.T) {
		t.Parallel()
		p := open(t, upstream.Config{Timeouts: upstream.Timeouts{Whole: 100 * time.Millisecond, Total: 400 * time.Millisecond}}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			ticking(w, r, "data: {\"a\":1}\n\n")
		})
		if _, e := failure(t, p, false); e == nil || !strings.Contains(e.Message, "timeouts.total") {
			t.Errorf("got %v, want the timer of the attempt", e)
		}
	})
}
