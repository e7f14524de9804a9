package attempt

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

// TestBudget asks budgets whether a target may be asked once more.
func TestBudget(t *testing.T) {
	limited := &gateway.Error{Kind: gateway.RateLimited, RetryAfter: time.Second}
	failed := &gateway.Error{Kind: gateway.Unavailable}
	for _, tt := range []struct {
		name       string
		budget     budget
		max, tried int
		last       *gateway.Error
		want       bool
		corrected  int // attempts of the target in which the model was corrected
	}{
		{"a retry is left", budget{targets: 1, maxRetries: 1, attempts: 1}, 1, 1, failed, true, 0},
		{"none is left", budget{targets: 1, maxRetries: 1, attempts: 2}, 1, 2, failed, false, 0},
		{"the target has had its own", budget{targets: 2, maxRetries: 3, attempts: 2}, 1, 2, failed, false, 0},
		{"a correction is none", budget{targets: 1, maxRetries: 1, attempts: 2, corrections: 1}, 1, 2, failed, true, 1},
		{"but that of another target says nothing", budget{targets: 2, maxRetries: 3, attempts: 3, corrections: 1}, 1, 2, failed, false, 0},
		{"as many attempts as targets", budget{targets: 3, maxRetries: 1, attempts: 2}, 1, 1, failed, true, 0},
		{"a target that was refused is none", budget{targets: 3, maxRetries: 1, attempts: 2, skipped: 1}, 1, 1, failed, false, 0},
		{"no retries, and a failure", budget{targets: 1, attempts: 1}, 0, 1, failed, false, 0},
		{"no retries, and a wait", budget{targets: 1, attempts: 1}, 0, 1, limited, true, 0},
		{"which happens once", budget{targets: 1, attempts: 1, waited: true}, 0, 1, limited, false, 0},
		{"and not if the client came back", budget{targets: 1, attempts: 1, clientRetried: true}, 0, 1, limited, false, 0},
	} {
		c := &candidate{retry: gateway.RetryPolicy{Max: tt.max}, trials: trials{attempts: tt.tried, corrected: tt.corrected, last: tt.last}}
		if got := tt.budget.allows(c); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestBudgetOfTargets makes a budget, and spends it.
func TestBudgetOfTargets(t *testing.T) {
	list := candidates{{retry: gateway.RetryPolicy{Max: 1}}, {retry: gateway.RetryPolicy{Max: 3}}, {}}
	b := newBudget(list, &gateway.Wishes{ClientRetries: 1})
	if b.targets != 3 || b.maxRetries != 3 || !b.clientRetried || !b.corrects() {
		t.Errorf("got %+v", b)
	}
	b.retry(list[0])
	if b.retries != 1 || b.waited {
		t.Errorf("after a retry: got %+v", b)
	}
	b.retry(list[2])
	if b.retries != 2 || !b.waited {
		t.Errorf("after a wait where there are no retries: got %+v", b)
	}
	b.corrections++
	if b.corrects() {
		t.Error("the model may be corrected twice")
	}
}

// TestRetries has a client say other retries than the provider.
func TestRetries(t *testing.T) {
	policy := gateway.RetryPolicy{Max: 3, Base: time.Second, Cap: time.Minute}
	two := 2
	for _, tt := range []struct {
		name   string
		wishes gateway.Wishes
		want   gateway.RetryPolicy
	}{
		{"nothing", gateway.Wishes{}, policy},
		{"a number", gateway.Wishes{MaxRetries: &two}, gateway.RetryPolicy{Max: 2, Base: time.Second, Cap: time.Minute}},
		{"what its SDK has tried", gateway.Wishes{MaxRetries: &two, ClientRetries: 3}, gateway.RetryPolicy{Base: time.Second, Cap: time.Minute}},
		{"a shorter wait", gateway.Wishes{MaxDelay: time.Millisecond}, gateway.RetryPolicy{Max: 3, Base: time.Millisecond, Cap: time.Millisecond}},
		{"a longer one", gateway.Wishes{BaseDelay: time.Hour}, gateway.RetryPolicy{Max: 3, Base: time.Hour, Cap: time.Hour}},
	} {
		if got := retries(policy, &tt.wishes); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
