package flow_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/wire"
)

// loser is a provider whose adapter has no word for tools.
type loser struct {
	gateway.Provider
	sent int // requests that went out
}

func (l *loser) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	body, _, lost := bytes.Cut(req.With(model, nil).Join(), []byte(`,"tools"`))
	if lost {
		body = slices.Concat(body, []byte{'}'}) // the body itself stays as it is
	}
	if err := req.Announce(wire.Pieces{body}); err != nil {
		return nil, err
	}
	l.sent++
	return l.Provider.Chat(ctx, model, req)
}

// TestToolsLost has an adapter lose the tools. What the policy says of it is done before
// anything is sent, and a request without tools has none to lose.
func TestToolsLost(t *testing.T) {
	t.Parallel()
	alone, second := []string{"loser"}, []string{"loser", "other"}
	for _, tt := range []struct {
		name      string
		binding   gateway.BindingAction
		providers []string
		toolless  bool
		code      string // of the error
		warning   string
		sent      int
	}{
		{"off", gateway.BindingOff, alone, false, "", "", 1},
		{"report", gateway.BindingReport, alone, false, "", "tools_lost:loser", 1},
		{"refuse", gateway.BindingRefuse, alone, false, "tools_lost", "tools_lost:loser", 0},
		{"refuse, and another target", gateway.BindingRefuse, second, false, "", "tools_lost:loser", 0},
		{"refuse, without tools", gateway.BindingRefuse, alone, true, "", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &loser{Provider: stream("stop", "Which city?")}
			var targets []gateway.Target
			for _, name := range tt.providers {
				targets = append(targets, gateway.Target{Provider: name, Mode: gateway.Repair})
			}
			g, err := flow.New(flow.Options{
				Providers:   map[string]gateway.Provider{"loser": l, "other": stream("stop", "Which city?")},
				Routes:      map[string][]gateway.Target{"m": targets},
				RoutePolicy: flow.RoutePolicy{Binding: tt.binding},
			})
			if err != nil {
				t.Fatal(err)
			}
			body := request
			if tt.toolless {
				body = `{"model":"m","stream":true,"messages":[]}`
			}
			summary, code := summaryOf(t, g, body)
			if code != tt.code || l.sent != tt.sent {
				t.Errorf("got code %q and %d requests sent, want %q and %d", code, l.sent, tt.code, tt.sent)
			}
			if got := strings.Join(summary.Warnings, ","); got != tt.warning {
				t.Errorf("got warnings %q, want %q", got, tt.warning)
			}
			if got, want := summary.Provider, tt.providers[len(tt.providers)-1]; got != want {
				t.Errorf("got an answer of %s, want one of %s", got, want)
			}
		})
	}
}

// summaryOf reads an answer to its end, and returns what is known of it, and the code of
// its error.
func summaryOf(t *testing.T, g *flow.Gateway, body string) (gateway.Summary, string) {
	t.Helper()
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Chat(t.Context(), req)
	if err != nil {
		e := gateway.AsError(err)
		if e.Summary == nil {
			t.Fatalf("got %v without a summary", e)
		}
		return *e.Summary, e.CodeOrDefault()
	}
	defer resp.Close()
	for err == nil {
		_, err = resp.Next()
	}
	return *resp.Summary, ""
}
