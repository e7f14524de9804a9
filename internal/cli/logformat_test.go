package cli

import (
	"regexp"
	"strings"
	"testing"
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
