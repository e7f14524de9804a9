package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/config"
)

// routeValues are values for every key of a route. The empty ones leave the key out,
// more often where two keys contradict each other.
var routeValues = []struct {
	key    string
	values []string
}{
	{"routing", []string{"", "", "order", "prefix"}},
	{"cache_hints", []string{"", "", "", "off", "report", "set"}},
	{"guard", []string{"", "", "", "off", "report", "enforce"}},
	{"guard_threshold", []string{"", "", "", "0.05", "1"}},
	{"intents", []string{"", "", "", "[]", "[{match: [delete], expect: delete_task}]"}},
	{"loop_guard", []string{"", "", "", "off", "report", "answer", "refuse"}},
	{"max_rounds", []string{"", "", "", "1", "2", "5", "1000"}},
	{"idle_rounds", []string{"", "", "", "2", "4", "100"}},
	{"tool_binding", []string{"", "off", "refuse"}},
	{"quality", []string{"", "", "off", "report"}},
	{"quality_low", []string{"", "", "", "0.05", "0.8"}},
	{"date_context", []string{"", "off", "UTC", "Asia/Tokyo"}},
	{"references", []string{"", "", "", "[]", "[{tool: a, argument: id, from: b, match: title, value: id}]"}},
	{"resolve_references", []string{"", "", "", "off", "report", "repair"}},
	{"execution_metadata", []string{"", "off", "body"}},
}

func drawRoute(t *rapid.T, name string) string {
	var route strings.Builder
	for _, k := range routeValues {
		if value := rapid.SampledFrom(k.values).Draw(t, name+"."+k.key); value != "" {
			fmt.Fprintf(&route, "%s: %s, ", k.key, value)
		}
	}
	return route.String()
}

// TestRouteProperty checks that the printed configuration means what the file meant,
// and that what was resolved is in bounds.
func TestRouteProperty(t *testing.T) {
	t.Parallel()
	good, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		all++
		text := "providers: {p: {type: demo}}\ndefaults: {" + drawRoute(t, "defaults") + "}\nmodels:\n"
		for _, name := range []string{"a", "b"} {
			text += "  " + name + ": {" + drawRoute(t, name) + "targets: [{provider: p}]}\n"
		}
		c, err := config.Parse("f", []byte(text), nil)
		if err != nil {
			return
		}
		good++
		printed := c.YAML()
		again, err := config.Parse("f", printed, nil)
		if err != nil {
			t.Fatalf("the printed configuration has a problem: %v\n%s", err, printed)
		}
		for _, name := range []string{"a", "b", "none"} {
			got, want := again.Route(name), c.Route(name)
			if !sameRoute(got, want) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
			if want.LoopGuard != "off" && (want.MaxRounds < 1 || want.IdleRounds < 1 || want.IdleRounds > want.MaxRounds) {
				t.Errorf("%s: got %d of %d rounds, want them in bounds", name, want.IdleRounds, want.MaxRounds)
			}
		}
	})
	t.Logf("%d of %d files are good", good, all)
	if good == 0 || good == all {
		t.Errorf("got %d good files of %d, want some of both kinds", good, all)
	}
}

// sameRoute compares what two routes mean: an empty list is none.
func sameRoute(x, y config.ResolvedRoute) bool {
	if len(x.Intents)+len(y.Intents) == 0 {
		x.Intents, y.Intents = nil, nil
	}
	if len(x.References)+len(y.References) == 0 {
		x.References, y.References = nil, nil
	}
	return reflect.DeepEqual(x, y)
}
