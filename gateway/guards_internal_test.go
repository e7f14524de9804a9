package gateway

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

	"github.com/callgate/callgate/gateway/internal/guard"
)

// teller is a provider whose answers say that something is done.
type teller struct{ pieces []string }

const told = "Done! I've deleted the task "

func tells() teller { return teller{append(slices.Repeat([]string{told}, 40), "Buy milk.")} }

func (p teller) Chat(_ context.Context, _ string, req *Request) (Reply, error) {
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

func (r *telling) Next() (Frame, error) {
	if r.at++; r.at > len(r.pieces)+1 {
		return Frame{}, io.EOF
	}
	if r.at > len(r.pieces) {
		return Frame{Raw: []byte("data: [DONE]\n\n"), Done: true}, nil
	}
	message := `{"role":"assistant","content":"` + r.pieces[r.at-1] + `"}`
	if !r.streamed {
		data := []byte(`{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`)
		return Frame{Raw: data, Data: data}, nil
	}
	data := []byte(`{"choices":[{"index":0,"delta":` + message + `}]}`)
	return Frame{Raw: slices.Concat([]byte("data: "), data, []byte("\n\n")), Data: data}, nil
}

// guardOver makes a gateway whose route m goes to a provider that tells.
func guardOver(t *testing.T, o Options, mode Mode) *Gateway {
	t.Helper()
	o.Providers = map[string]Provider{"p": tells()}
	o.Routes = map[string][]Target{"m": {{Provider: "p", Mode: Repair}}}
	o.RoutePolicy = RoutePolicy{Guard: mode}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func deletion(t *testing.T, streamed bool) *Request {
	t.Helper()
	req, err := ParseRequest(fmt.Appendf(nil, `{"model":"m","stream":%t,"messages":[{"role":"user","content":"Delete the task Buy milk."}],`+
		`"tools":[{"type":"function","function":{"name":"delete_task"}}]}`, streamed))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// tellClient has a client ask, and returns what it gets and what is known of that. It has
// to be the whole answer.
func tellClient(t *testing.T, g *Gateway, streamed bool) *Summary {
	t.Helper()
	resp, err := g.Chat(t.Context(), deletion(t, streamed))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	var out strings.Builder
	for err == nil {
		var b []byte
		b, _, err = resp.Next()
		out.Write(b)
	}
	if got, want := strings.Count(out.String(), told), len(tells().pieces)-1; err != io.EOF || got != want || !strings.Contains(out.String(), "Buy milk.") {
		t.Errorf("got %q and %v, want the whole answer and the end", out.String(), err)
	}
	return &resp.Summary
}

// TestGuardFails has the guard panic whatever it is asked, for it was never made. Its
// clients have their answers, and the operator has what went wrong.
func TestGuardFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		policy   Mode
		streamed bool
	}{
		{"report, whole", Report, false},
		{"report, streamed", Report, true},
		{"enforce, whole", Repair, false},
		{"enforce, streamed", Repair, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			g := guardOver(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, tt.policy)
			g.conduct.guard = new(guard.Guard)
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
		{"no room", maxWithheldAll},
		{"a little room", maxWithheldAll - 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := guardOver(t, Options{}, Repair)
			g.withheld.Store(tt.taken)
			summary := tellClient(t, g, true)
			if !slices.Equal(summary.Warnings, []string{"guard_gave_up"}) {
				t.Errorf("got warnings %q, want guard_gave_up", summary.Warnings)
			}
			if v := summary.Guard; v == nil || !v.Ghost {
				t.Errorf("got verdict %v, want a ghost", v)
			}
			if got := g.withheld.Load(); got != tt.taken {
				t.Errorf("got %d bytes taken behind the answer, want %d", got, tt.taken)
			}
		})
	}
}

// TestGuardRoomIsGivenBack has an answer be held to its end, and refused.
func TestGuardRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	g := guardOver(t, Options{}, Repair)
	if _, err := g.Chat(t.Context(), deletion(t, true)); AsError(err).Kind != Ghost {
		t.Errorf("got %v, want the failure of a ghost", err)
	}
	if got := g.withheld.Load(); got != 0 {
		t.Errorf("got %d bytes taken behind the answer, want none", got)
	}
}
