package flow_test

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

// drip is a provider that answers with the same chunk over and over, then with an end.
type drip struct {
	first, chunk string
	times        int
}

type dripReply struct {
	reply
	*drip
	left int
}

func (d *drip) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return &dripReply{reply{scripted: stream("stop", "It rains.")}, d, d.times}, nil
}

func (r *dripReply) Next() (*gateway.Frame, error) {
	text := r.chunk
	switch r.left--; {
	case r.left == r.times-1:
		text = r.first
	case r.left < 0:
		return r.reply.Next()
	}
	data := `{"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`
	return &gateway.Frame{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data)}, nil
}

// allocated returns how many bytes are allocated while an answer goes through a gateway.
func (d *drip) allocated(t *testing.T, policy flow.RoutePolicy) int64 {
	t.Helper()
	g, err := flow.New(flow.Options{
		Providers:   map[string]gateway.Provider{"p": d},
		Routes:      map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair}}},
		RoutePolicy: policy,
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := g.Chat(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	out := 0
	for in := reads(resp); err == nil; {
		var b []byte
		b, err = in.next()
		out += len(b)
	}
	runtime.ReadMemStats(&after)
	if least := d.times * len(d.chunk); err != io.EOF || out < least {
		t.Fatalf("got %d bytes and %v, want at least %d and the end", out, err, least)
	}
	return int64(after.TotalAlloc) - int64(before.TotalAlloc)
}

// TestGuardKeepsLittle has long answers come in small pieces of which it is not known
// whether reasoning begins or ends in them. The guard keeps the end of what has come, and
// does not read all of it again with each piece. What is allocated is counted, and so
// nothing else may run.
func TestGuardKeepsLittle(t *testing.T) {
	const length, most = 4 << 20, 8 << 20
	for _, tt := range []struct{ name, first, piece string }{
		{"blanks", "", strings.Repeat(" ", 256)},
		{"lines", "", strings.Repeat(`\n`, 256)},
		{"reasoning without an end", "<think>", strings.Repeat("It rains </", 32)},
		{"text that almost ends reasoning", "It rains.", strings.Repeat("It rains </", 32)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &drip{tt.first, tt.piece, length / len(tt.piece)}
			off, on := d.allocated(t, flow.RoutePolicy{}), d.allocated(t, reporting)
			if on-off > most {
				t.Errorf("got %d bytes allocated with the guard and %d without it, want at most %d more", on, off, most)
			}
		})
	}
}
