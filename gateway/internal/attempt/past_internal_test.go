package attempt

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

// TestFailures notes failures, and asks which of them tells the client the most.
func TestFailures(t *testing.T) {
	refused, limited := &gateway.Error{Kind: gateway.Rejected}, &gateway.Error{Kind: gateway.RateLimited}
	open := func(after time.Duration) *gateway.Error {
		return &gateway.Error{Kind: gateway.CircuitOpen, RetryAfter: after}
	}
	late, soon, canceled, bad, instead := open(time.Minute), open(time.Second), &gateway.Error{Kind: gateway.Canceled}, &gateway.Error{Kind: gateway.BadCall}, &gateway.Error{Kind: gateway.Ghost}
	demand, another := guidance{model: "m", latest: &gateway.Redo{Else: instead}}, guidance{model: "other", latest: &gateway.Redo{Else: instead}}
	for _, tt := range []struct {
		name     string
		list     []*gateway.Error
		left     *gateway.Error
		guidance guidance
		want     *gateway.Error
	}{
		{"the latest", []*gateway.Error{limited, refused}, nil, guidance{}, refused},
		{"nobody was asked in the end", []*gateway.Error{limited, soon}, nil, guidance{}, limited},
		{"nobody was asked at all", []*gateway.Error{late, soon, late}, nil, guidance{}, soon},
		{"one that another target was asked behind", []*gateway.Error{bad, refused}, bad, guidance{}, bad},
		{"the client has left", []*gateway.Error{bad, canceled}, bad, guidance{}, canceled},
		{"a demand was refused", []*gateway.Error{refused}, nil, demand, instead},
		{"another model was told", []*gateway.Error{refused}, nil, another, refused},
		{"what is not about the demand", []*gateway.Error{limited}, nil, demand, limited},
	} {
		var f failures
		for _, e := range tt.list {
			f.note(e)
		}
		if tt.left != nil {
			f.left(tt.left)
			f.left(limited) // the first stays
		}
		if got := f.telling(tt.list[len(tt.list)-1], "m", &tt.guidance); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestPast has an attempt fail.
func TestPast(t *testing.T) {
	var p past
	p.warn("")
	p.warn("odd")
	p.warn("odd")
	if len(p.warnings) != 1 {
		t.Errorf("got the warnings %q", p.warnings)
	}
	s := &gateway.Summary{Attempts: p.begins(gateway.Attempt{Provider: "a", Model: "m", Outcome: "running"})}
	s.Attempts[0].Outcome = "upstream_error"
	s.Fault("broken")
	if p.tried() != "a/m (running)" {
		t.Errorf("a summary is not a copy: got %s", p.tried())
	}
	p.failed(s)
	if p.tried() != "a/m (upstream_error)" || p.faults["broken"] != 1 {
		t.Errorf("got %s and the faults %v", p.tried(), p.faults)
	}
}

// TestGuidance has an answer demand a call, and another target asked then.
func TestGuidance(t *testing.T) {
	var g guidance
	if g.demanded() != nil || g.tool() != "" {
		t.Errorf("got %+v", g)
	}
	verdict := &gateway.Verdict{}
	g.heed(&gateway.Redo{Pin: "weather", Demanded: verdict, Notes: []gateway.Correction{{}}}, "m")
	if g.demanded() != verdict || g.tool() != "weather" || len(g.remarks) != 1 {
		t.Errorf("got %+v", g)
	}
	g.forget()
	if g.demanded() != nil || len(g.remarks) != 0 || len(g.said) != 1 {
		t.Errorf("another target: got %+v", g)
	}
}
