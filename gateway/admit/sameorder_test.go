package admit_test

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/admit"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
)

// TestSameModels holds that two limits which count the same are refused where a key is made: else each of its requests would fail.
func TestSameModels(t *testing.T) {
	t.Parallel()
	for _, models := range [][2][]string{{{"a", "b"}, {"b", "a"}}, {{"a,b"}, {"a", "b"}}, {{"a"}, {"b"}}, {nil, {"a"}}} {
		list := []limit.Spec{{Requests: 1, Per: "1m", Models: models[0]}, {Requests: 2, Per: "60s", Models: models[1]}}
		if list[0].Limit(limit.Scope{}).Per != time.Minute {
			t.Fatal("the time is none")
		}
		k := keys.Key{Name: "k", Scope: keys.Scope{Limits: list}}
		problems := k.Check()
		table, err := admit.NewTable(admit.Rules{Made: func(string, string) (own, teams *[]limit.Spec) { return &list, nil }}, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []string{"a", "b"} {
			req, err := gateway.ParseRequest([]byte(`{"model":"` + model + `","messages":[{"role":"user","content":"hello"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			req.From.Tenant = "k"
			if _, err = table.Of(req); err != nil && len(problems) == 0 {
				t.Errorf("models %q: the key is good, and its requests for %s get error %v", models, model, err)
			}
		}
	}
}
