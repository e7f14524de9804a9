package loop_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
)

// recording is a file of testdata/loops: a conversation and what is said of it.
type recording struct {
	Name     string
	Limits   loop.Limits
	Messages []json.RawMessage
	Want     struct {
		// StopsAt and NearAt count the rounds of the whole recording. 0 is never.
		StopsAt int `json:"stops_at"`
		NearAt  int `json:"near_at"`
		Stop    loop.Reason
		Tool    string
		Period  int
		// These are of the end.
		Rounds, Calls int
		NewResults    int `json:"new_results"`
		Efficiency    float64
	}
}

func readRecording(t *testing.T, file string) (r recording) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// requests are the beginnings of the recording that its client sent: up to each
// message with calls, and all of it.
func (r recording) requests() (requests [][]json.RawMessage) {
	for i, message := range r.Messages {
		var m struct {
			Calls []json.RawMessage `json:"tool_calls"`
		}
		if json.Unmarshal(message, &m) == nil && len(m.Calls) > 0 {
			requests = append(requests, r.Messages[:i])
		}
	}
	return append(requests, r.Messages)
}

func check(messages []json.RawMessage, limits loop.Limits) loop.Report {
	text, _ := json.Marshal(messages)
	return loop.Check(ledger.New(conversation.Read(text), nil), nil, limits)
}

// TestRecordings asks at every round, as a client's requests do, when it is told to
// stop for the first time.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/loops/*.json")
	if err != nil || len(files) < 25 {
		t.Fatalf("got %d recordings and the error %v, want 25 or more", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			r := readRecording(t, file)
			var last, stopped loop.Report
			stopsAt, nearAt := 0, 0
			for rounds, messages := range r.requests() {
				last = check(messages, r.Limits)
				if last.Stop != "" && stopsAt == 0 {
					stopsAt, stopped = rounds, last
				}
				if last.Near && nearAt == 0 {
					nearAt = rounds
				}
			}
			want := r.Want
			if stopsAt != want.StopsAt || stopped.Stop != want.Stop || stopped.Tool != want.Tool || stopped.Period != want.Period {
				t.Errorf("%s\ngot %q of %q with the period %d at round %d, want %q of %q with %d at %d", r.Name,
					stopped.Stop, stopped.Tool, stopped.Period, stopsAt, want.Stop, want.Tool, want.Period, want.StopsAt)
			}
			if nearAt != want.NearAt {
				t.Errorf("got near the limit at round %d, want %d", nearAt, want.NearAt)
			}
			if last.Rounds != want.Rounds || last.Calls != want.Calls || last.NewResults != want.NewResults || math.Abs(last.Efficiency-want.Efficiency) > 1e-9 {
				t.Errorf("got %d rounds, %d calls, %d new results, efficiency %v, want %d, %d, %d, %v", last.Rounds, last.Calls, last.NewResults, last.Efficiency,
					want.Rounds, want.Calls, want.NewResults, want.Efficiency)
			}
		})
	}
}
