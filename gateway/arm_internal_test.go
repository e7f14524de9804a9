package gateway

import (
	"testing"

	"github.com/callgate/callgate/gateway/rollout"
)

// TestResult holds what counts as repaired among answers that call: what was wrong with a call, and not
// what was done with the request or with reasoning.
func TestResult(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		calls   int
		repairs map[string]int
		want    rollout.Result
	}{
		{0, nil, rollout.Plain},
		{0, map[string]int{"reasoning_text": 1}, rollout.Plain},
		{1, nil, rollout.Clean},
		{1, map[string]int{"reasoning_text": 1, "date_context": 1, "history_id": 2}, rollout.Clean},
		{1, map[string]int{"reasoning_text": 1, "args_json": 1}, rollout.Repaired},
	} {
		s := Summary{}
		s.Calls, s.Repairs = row.calls, row.repairs
		if got := s.result(); got != row.want {
			t.Errorf("%d calls, repairs %v: got %v, want %v", row.calls, row.repairs, got, row.want)
		}
	}
}
