package config_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/config"
)

// TestRoute walks the defaults of a route: the model's own, those of the file, those
// of all.
func TestRoute(t *testing.T) {
	t.Parallel()
	const file = `
providers: {local: {type: demo}}
defaults:
  routing: prefix
  guard: enforce
  guard_threshold: 0.8
  intents: [{match: [delete], expect: delete_task}]
  loop_guard: answer
  max_rounds: 20
  idle_rounds: 5
  tool_binding: refuse
  date_context: Europe/Berlin
  references: [{tool: complete_task, argument: id, from: list_tasks, match: title, value: id}]
  resolve_references: report
  execution_metadata: body
  answer_cache: memory
  answer_cache_ttl: 1h
models:
  inherits: {targets: [{provider: local}]}
  own*:
    targets: [{provider: local}]
    routing: order
    guard: report
    guard_threshold: 0.9
    intents: [{match: [remove], expect: remove_file}, {match: [add], expect: add_file}]
    loop_guard: refuse
    max_rounds: 4
    idle_rounds: 2
    tool_binding: "off"
    date_context: UTC
    references: []
    resolve_references: repair
    execution_metadata: "off"
    answer_cache_ttl: 1s
  "off": {targets: [{provider: local}], answer_cache: "off", guard: "off", loop_guard: "off", resolve_references: "off", date_context: "off"}
  few: {targets: [{provider: local}], max_rounds: 3, intents: [], cache_hints: report}
`
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := mustParse(t, file)
	reference := config.Reference{Tool: "complete_task", Argument: "id", From: "list_tasks", Match: "title", Value: "id", MinRatio: 0.6}
	causes := config.FallbackOn{"tools_refused", "context_length"}
	inherited := config.ResolvedRoute{Zone: berlin, Route: config.Route{
		Routing: "prefix", CacheHints: "set", Guard: "enforce", GuardThreshold: 0.8, Intents: []config.Intent{{Match: []string{"delete"}, Expect: "delete_task"}},
		LoopGuard: "answer", MaxRounds: 20, CodingRounds: 20, IdleRounds: 5, ToolBinding: "refuse", FallbackOn: causes, Quality: "report", DateContext: "Europe/Berlin",
		References: []config.Reference{reference}, ResolveReferences: "report", ExecutionMetadata: "body",
		AnswerCache: "memory", AnswerCacheTTL: config.Duration(time.Hour),
	}}
	few := inherited
	few.CodingRounds = 3
	few.MaxRounds, few.IdleRounds, few.Intents, few.CacheHints = 3, 3, []config.Intent{}, "report"
	tests := map[string]config.ResolvedRoute{
		"inherits": inherited,
		"unknown":  inherited,
		"own":      inherited, // not an entry, though one matches
		"few":      few,
		"own*": {Zone: time.UTC, Route: config.Route{
			Routing: "order", CacheHints: "off", Guard: "report", GuardThreshold: 0.9,
			Intents:   []config.Intent{{Match: []string{"remove"}, Expect: "remove_file"}, {Match: []string{"add"}, Expect: "add_file"}},
			LoopGuard: "refuse", MaxRounds: 4, CodingRounds: 4, IdleRounds: 2, ToolBinding: "off", FallbackOn: causes, Quality: "report", DateContext: "UTC",
			References: []config.Reference{}, ResolveReferences: "repair", ExecutionMetadata: "off",
			AnswerCache: "memory", AnswerCacheTTL: config.Duration(time.Second),
		}},
		"off": {Route: config.Route{
			Routing: "prefix", CacheHints: "set", Guard: "off", LoopGuard: "off", ToolBinding: "refuse", FallbackOn: causes, Quality: "report", ResolveReferences: "off", ExecutionMetadata: "body",
			DateContext: "off", AnswerCache: "off",
		}},
	}
	for model, want := range tests {
		if got := c.Route(model); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", model, got, want)
		}
	}
	if got := c.DefaultRoute(); !reflect.DeepEqual(got, inherited) {
		t.Errorf("got %+v by default, want %+v", got, inherited)
	}
}

func TestDefaultRoute(t *testing.T) {
	t.Parallel()
	want := config.ResolvedRoute{Route: config.Route{
		Routing: "order", CacheHints: "off", Guard: "report", LoopGuard: "report", MaxRounds: 15, CodingRounds: 100, IdleRounds: 3, ToolBinding: "report",
		FallbackOn: config.FallbackOn{"tools_refused", "context_length"}, Quality: "report",
		ResolveReferences: "repair", ExecutionMetadata: "off", DateContext: "off", AnswerCache: "off",
	}}
	for name, c := range map[string]*config.Config{
		"environment": config.FromEnv(nil), "file": mustParse(t, "defaults:\n"), "zero": {},
	} {
		if got := c.DefaultRoute(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if err := c.Validate(); name != "zero" && err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
		}
	}
}

// TestRouteChanged checks a configuration that was made with no configuration file, where no key
// has a place.
func TestRouteChanged(t *testing.T) {
	t.Parallel()
	c := config.FromEnv(nil)
	c.Defaults = config.Route{LoopGuard: "off", MaxRounds: 7, GuardThreshold: 2}
	err := c.Validate()
	const want = `environment: defaults.guard_threshold: 2 is out of range; it may be from 0.05 to 1, for example guard_threshold: 0.8
environment: defaults.max_rounds: with loop_guard: off (defaults.loop_guard) this has no effect; write loop_guard: report here, or leave this out`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestCheckPrompted(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("callgate.yaml", []byte(`
providers:
  p: {type: demo, parser: mine, tools: prompted}
  q: {type: demo, parser: hermess}
  secret: {type: demo, parser: "${PARSER}"}
models:
  inherits: {targets: [{provider: p}]}
  good: {targets: [{provider: p, parser: hermes}, {provider: p, tools: native}, {provider: q}, {provider: q, parser: auto}]}
  own: {targets: [{provider: q, tools: prompted}, {provider: p, parser: [mistrall]}]}
  secret: {targets: [{provider: secret, tools: prompted}]}
parsers:
  mine: {start: "<<"}
`), env("PARSER="+canary))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckPrompted([]string{"mistrall", "mine", "hermes", "hermess", canary}); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	got := c.CheckPrompted([]string{"mistral", "hermes"})
	const want = `callgate.yaml:3:27: providers.p.parser: parser "mine" (providers.p.parser in line 3) has no form for the prompt, which tools: prompted (providers.p.tools in line 3) needs; known parsers with one: hermes, mistral
callgate.yaml:9:19: models.own.targets[0].parser: parser "hermess" (providers.q.parser in line 4) has no form for the prompt, which tools: prompted (models.own.targets[0].tools in line 9) needs; did you mean "hermes"? known parsers with one: hermes, mistral
callgate.yaml:9:65: models.own.targets[1].parser: parser "mistrall" (models.own.targets[1].parser in line 9) has no form for the prompt, which tools: prompted (providers.p.tools in line 3) needs; did you mean "mistral"? known parsers with one: hermes, mistral
callgate.yaml:10:22: models.secret.targets[0].parser: parser the value of "${PARSER}" (providers.secret.parser in line 5) has no form for the prompt, which tools: prompted (models.secret.targets[0].tools in line 10) needs; known parsers with one: hermes, mistral`
	if got == nil || got.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
}
