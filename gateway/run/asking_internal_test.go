package run

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

// TestJudge asks whether there may be another round.
func TestJudge(t *testing.T) {
	policy := Policy{Rounds: 9, Idle: 2, Time: Times{Run: time.Hour, Answer: time.Minute}}
	free := `{"model":"m","messages":[]}`
	for _, tt := range []struct {
		name   string
		round  int
		idle   int
		began  time.Duration // ago
		body   string
		last   gateway.ToolStop
		choice string
	}{
		{"the first", 1, 0, 0, free, "", ""},
		{"a call was required", 1, 0, 0, `{"model":"m","messages":[],"tool_choice":"required"}`, "", `"auto"`},
		{"all rounds were there", 9, 0, 0, free, gateway.StopRounds, `"none"`},
		{"nothing new", 2, 2, 0, free, gateway.StopIdle, `"none"`},
		{"late", 2, 0, time.Hour, free, gateway.StopTime, `"none"`},
	} {
		req, err := gateway.ParseRequest([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		a := asking{began: time.Now().Add(-tt.began), round: tt.round}
		note, choice := a.judge(&policy, req, tt.idle)
		if a.lastBecause != tt.last || choice != tt.choice || (tt.last != "") != (note == leftNote(0)) {
			t.Errorf("%s: got %q, %q and the note %q", tt.name, a.lastBecause, choice, note)
		}
	}
}

// TestOutput tells of what happens before an answer has begun, and then.
func TestOutput(t *testing.T) {
	var o output
	o.comment([]string{"files__read"})
	o.tell(&event{Event: startedEvent, ID: "1"})
	if len(o.frames) != 0 || len(o.early) != 1 {
		t.Errorf("before the answer: got %d frames, and %d events are kept", len(o.frames), len(o.early))
	}
	o.begin(true, nil)
	o.comment(nil)
	o.comment([]string{"files__read", "files__write"})
	if len(o.early) != 0 || len(o.frames) != 1 || string(o.frames[0].Raw) != ": tool files__read files__write\n\n" {
		t.Errorf("in the answer: got %d frames, and %d events are kept", len(o.frames), len(o.early))
	}
	var whole output
	whole.begin(false, nil)
	whole.comment([]string{"files__read"})
	if len(whole.frames) != 0 {
		t.Errorf("a whole answer has %d comments", len(whole.frames))
	}
}
