package billing

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestLine holds that a line of the journal is what encoding/json makes of a Record.
func TestLine(t *testing.T) {
	t.Parallel()
	full := Row{ID: "a-1", Request: "r\"<&>\u2028", Time: time.Date(2026, 11, 23, 7, 0, 0, 120_000_000, time.UTC), Key: "Zoë", Team: "t\x01", Labels: map[string]string{"b": "2", "a\"": "1"},
		Session: "s", Model: "m", Provider: "p", Served: "v", Arm: "x/y", Purpose: "answer", Input: 1, Cached: 2, CacheWrite: 3, Output: 4, Reasoning: 5, Nano: 6_000_000_007,
		Priced: true, PriceVersion: "v1", Estimated: true, Tools: 8, Status: "ok", Took: 9 * time.Millisecond}
	for _, row := range []Row{full, {ID: "b", Time: time.Unix(1, 0).UTC()}} {
		want, err := json.Marshal(row.Record())
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs map[string]any
		line := appendLine(nil, &row)
		if err := json.Unmarshal(line, &ours); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		_ = json.Unmarshal(want, &theirs)
		if !reflect.DeepEqual(ours, theirs) {
			t.Errorf("got\n%s, want\n%s", line, want)
		}
		if rows, bad := readLines(line); bad != 0 || len(rows) != 1 || !reflect.DeepEqual(rows[0], row) {
			t.Errorf("got %+v, want %+v", rows, row)
		}
	}
}
