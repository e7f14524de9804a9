package cli

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestLogUnits holds that each duration in a log says its unit: in its name where it is a number of
// JSON, in its value else.
func TestLogUnits(t *testing.T) {
	t.Parallel()
	bare := regexp.MustCompile(`"(took|overhead|first_token|delay|timeout)":`)
	for form, want := range map[string]*regexp.Regexp{
		"json": regexp.MustCompile(`"msg":"request".*"took_ms":\d+(\.\d{1,3})?,.*"overhead_ms":\d+(\.\d{1,3})?,`),
		"text": regexp.MustCompile(`msg=request .*took=[\d.]+[mµ]?s .*overhead=[\d.]+[mµ]?s `),
	} {
		g := serve(t, "", "--log-format", form)
		if r := g.chat(prompt("demo/hermes", "hi", false)); r.status != 200 {
			t.Fatalf("got status %d and %s", r.status, r.body)
		}
		await(t, "the line of the request", func() bool { return want.MatchString(g.stderr.String()) })
		if said := g.stderr.String(); bare.MatchString(said) || !strings.Contains(said, "plugin loaded") {
			t.Errorf("%s: got a duration without a unit, or no line about the parsers, in\n%s", form, said)
		}
	}
}

// TestLogCalls holds that the log counts all calls of an answer, and not those alone that were read
// from text; and that the end of a stream does not say either that there were none.
func TestLogCalls(t *testing.T) {
	t.Parallel()
	g := serve(t, "providers: {demo: {type: demo}}\nmodels: {m: {targets: [{provider: demo, model: native, parser: auto}]}}\nlog: {format: json}\n")
	const body = `{"model":"m","stream":%t,"messages":[{"role":"user","content":"What is the weather in Oslo?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`
	if r := g.chat(fmt.Sprintf(body, false)); !strings.Contains(r.body, `"tool_calls"`) {
		t.Fatalf("got %s, want a call", r.body)
	}
	if r := g.chat(fmt.Sprintf(body, true)); strings.Contains(r.body, "calls=0") {
		t.Errorf("got the stream\n%s\nwant no calls=0 at its end", r.body)
	}
	await(t, "two lines with a call", func() bool { return strings.Count(g.stderr.String(), `"calls":1,`) == 2 })
}

// TestLogLevels holds that levels are in the log as slog writes them itself.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelInfo + 2, slog.LevelWarn, slog.LevelError, slog.LevelError + 1} {
		var log bytes.Buffer
		logger(&log, config.Log{Level: "debug", Format: "json"}).Log(t.Context(), level, "x")
		want, err := level.MarshalJSON()
		if got := log.String(); err != nil || !strings.Contains(got, `,"level":`+string(want)+`,"msg":"x"}`) {
			t.Errorf("got the line %s and %v, want the level %s", got, err, want)
		}
	}
}
