package flow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/stage/ghost"
)

// teller is a provider whose answers say that something is done.
type teller struct{ pieces []string }

const told = "Done! I've deleted the task "

func tells() teller { return teller{append(slices.Repeat([]string{told}, 40), "Buy milk.")} }

func (p teller) Chat(_ context.Context, _ string, req *gateway.Request) (gateway.Reply, error) {
	if !req.Stream {
		p.pieces = []string{strings.Join(p.pieces, "")}
	}
	return &telling{teller: p, streamed: req.Stream}, nil
}

type telling struct {
	teller
	streamed bool
	at       int
}

func (r *telling) Header() http.Header { return http.Header{} }
func (r *telling) Streamed() bool      { return r.streamed }
func (r *telling) Close() error        { return nil }

func (r *telling) Next() (*gateway.Frame, error) {
	if r.at++; r.at > len(r.pieces)+1 {
		return nil, io.EOF
	}
	if r.at > len(r.pieces) {
		return &gateway.Frame{Raw: []byte("data: [DONE]\n\n"), Done: true}, nil
	}
	message := `{"role":"assistant","content":"` + r.pieces[r.at-1] + `"}`
	if !r.streamed {
		data := []byte(`{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`)
		return &gateway.Frame{Raw: data, Data: data}, nil
	}
	data := []byte(`{"choices":[{"index":0,"delta":` + message + `}]}`)
	return &gateway.Frame{Raw: slices.Concat([]byte("data: "), data, []byte("\n\n")), Data: data}, nil
}

// guardOver makes a gateway whose route m goes to a provider that tells.
func guardOver(t *testing.T, o Options, mode gateway.Mode) *Gateway {
	t.Helper()
	o.Providers = map[string]gateway.Provider{"p": tells()}
	o.Routes = map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair}}}
	o.RoutePolicy = RoutePolicy{Guard: mode}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ghosts makes the stage of the guard for all routes.
func ghosts(g *Gateway) *ghost.Maker {
	for _, m := range g.policies.others.stages {
		if m, ok := m.(*ghost.Maker); ok {
			return m
		}
	}
	return nil
}

func deletion(t *testing.T, streamed bool) *gateway.Request {
	t.Helper()
	req, err := gateway.ParseRequest(fmt.Appendf(nil, `{"model":"m","stream":%t,"messages":[{"role":"user","content":"Delete the task Buy milk."}],`+
		`"tools":[{"type":"function","function":{"name":"delete_task"}}]}`, streamed))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// tellClient has a client ask, and returns what it gets and what is known of that. It has
// to be the whole answer.
func tellClient(t *testing.T, g *Gateway, streamed bool) *gateway.Summary {
	t.Helper()
	resp, err := g.Chat(t.Context(), deletion(t, streamed))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	var out []byte
	for err == nil {
		var f *gateway.Frame
		if f, err = resp.Next(); f != nil {
			out = f.AppendTo(out)
		}
	}
	if got, want := strings.Count(string(out), told), len(tells().pieces)-1; err != io.EOF || got != want || !strings.Contains(string(out), "Buy milk.") {
		t.Errorf("got %q and %v, want the whole answer and the end", string(out), err)
	}
	return resp.Summary
}

// TestGuardFails has the guard panic whatever it is asked, for it was never made. Its
// clients have their answers, and the operator has what went wrong.
func TestGuardFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		policy   gateway.Mode
		streamed bool
	}{
		{"report, whole", gateway.Report, false},
		{"report, streamed", gateway.Report, true},
		{"enforce, whole", gateway.Repair, false},
		{"enforce, streamed", gateway.Repair, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			g := guardOver(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, tt.policy)
			ghosts(g).Guard = new(guard.Guard)
			summary := tellClient(t, g, tt.streamed)
			if !slices.Contains(summary.Warnings, "guard_failed") || summary.Guard != nil {
				t.Errorf("got warnings %q and verdict %v, want guard_failed and none", summary.Warnings, summary.Guard)
			}
			if n := strings.Count(log.String(), "guard failed"); n > 2 { // while the answer comes, and at its end
				t.Errorf("got %d failures of the guard in the log, want it asked no more after the first", n)
			}
			if got := log.String(); !strings.Contains(got, "guard failed") || !strings.Contains(got, "stack=") {
				t.Errorf("got the log %q, want the panic with its stack", got)
			}
		})
	}
}

// TestGuardRoom has the answers of others take all the room, or all but a little, that
// there is for what waits for the guard. An answer that finds none goes out as it comes,
// and it is said; all of them give back what they took.
func TestGuardRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		taken int64
	}{
		{"no room", ghost.MaxHeldAll},
		{"a little room", ghost.MaxHeldAll - 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := guardOver(t, Options{}, gateway.Repair)
			ghosts(g).Held.Store(tt.taken)
			summary := tellClient(t, g, true)
			if !slices.Equal(summary.Warnings, []string{"guard_gave_up"}) {
				t.Errorf("got warnings %q, want guard_gave_up", summary.Warnings)
			}
			if v := summary.Guard; v == nil || !v.Ghost {
				t.Errorf("got verdict %v, want a ghost", v)
			}
			if got := ghosts(g).Held.Load(); got != tt.taken {
				t.Errorf("got %d bytes taken behind the answer, want %d", got, tt.taken)
			}
		})
	}
}

// TestGuardRoomIsGivenBack has an answer be held to its end, and refused.
func TestGuardRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	g := guardOver(t, Options{}, gateway.Repair)
	if _, err := g.Chat(t.Context(), deletion(t, true)); gateway.AsError(err).Kind != gateway.Ghost {
		t.Errorf("got %v, want the failure of a ghost", err)
	}
	if got := ghosts(g).Held.Load(); got != 0 {
		t.Errorf("got %d bytes taken behind the answer, want none", got)
	}
}
