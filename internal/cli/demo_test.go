package cli

import (
	"encoding/json"
	"html"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// demoOutput is what "callgate demo" prints.
func demoOutput(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := command(t, "", append([]string{"demo"}, args...)...)
	if status != exitOK || stderr != "" {
		t.Fatalf("got status %d and %q, want %d and nothing", status, stderr, exitOK)
	}
	return stdout
}

var demoRoute = regexp.MustCompile(`\n  models:\n    (\w+):\n`)

// guardParts are the scenes that were printed, by their routes.
func guardParts(output string) map[string]string {
	parts := map[string]string{}
	for part := range strings.SplitSeq(output, "\n\n") {
		if m := demoRoute.FindStringSubmatch(part); m != nil {
			parts[m[1]] = part
		}
	}
	return parts
}

// TestDemoGuards compares each scene with testdata/demo/guards.txtar, which has what
// follows the question. There "..." stands for any text within a line.
func TestDemoGuards(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/demo/guards.txtar")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = strings.TrimSpace(string(f.Data))
	}
	for _, mode := range []string{"streamed", "whole"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			args := []string{"guards"}
			if mode == "whole" {
				args = append(args, "--whole")
			}
			output := demoOutput(t, args...)
			if !strings.HasPrefix(output, "\nModels that need a guard, "+mode+", ") {
				t.Errorf("got %.60q, want it to say that answers are %s", output, mode)
			}
			got := guardParts(output)
			if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
				t.Errorf("got the scenes %v, want %v", g, w)
			}
			for route, lines := range want {
				_, talk, _ := strings.Cut(got[route], "\n  user")
				_, talk, _ = strings.Cut(talk, "\n")
				compareLines(t, route, talk, lines)
			}
		})
	}
}

// compareLines compares texts, the lines of want being without their indentation.
func compareLines(t *testing.T, name, got, want string) {
	t.Helper()
	g, w := strings.Split(strings.TrimSpace(got), "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) {
			t.Errorf("%s: got %d lines, want %d:\n%s", name, len(g), len(w), got)
			return
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(w[i])), `\.\.\.`, ".*")
		if line := strings.TrimSpace(g[i]); !regexp.MustCompile("^" + pattern + "$").MatchString(line) {
			t.Errorf("%s: line %d:\n got %s\nwant %s", name, i+1, line, w[i])
		}
	}
}

// TestDemoConfigurations checks that what the demo prints of a configuration can be
// copied, and that the gateway then answers on the model's name.
func TestDemoConfigurations(t *testing.T) {
	t.Parallel()
	config := "providers:\n  upstream: {type: demo}\nmodels:\n"
	parts := guardParts(demoOutput(t, "guards", "--whole"))
	for route, part := range parts {
		_, lines, _ := strings.Cut(part, "\n  models:\n")
		lines, _, _ = strings.Cut(lines, "  user ")
		own := strings.ReplaceAll("\n"+lines, "\n  ", "\n")[1:]
		config += own
		alone := configFile(t, "providers:\n  upstream: {type: demo}\nmodels:\n"+own)
		if status, _, stderr := command(t, "", "check", alone); status != exitOK {
			t.Errorf("%s: got status %d from check: %s", route, status, stderr)
		}
	}
	g := serve(t, config+"admin: {listen: \"127.0.0.1:0\"}\n")
	for route := range parts {
		if r := g.chat(prompt(route, "hello", false)); r.status != 200 {
			t.Errorf("%s: got status %d: %s", route, r.status, r.body)
		}
	}
}

// TestDemoFaultsWhole looks at what differs from the streams: an answer that is cut does
// not arrive, and indexes do not matter.
func TestDemoFaultsWhole(t *testing.T) {
	t.Parallel()
	output := demoOutput(t, "faults", "--details", "--whole")
	for _, want := range []string{
		`(?m)^Upstreams that fail and models that misspell, whole,`,
		`\(demo/cut\)\n  direct    connection: .*EOF\n  callgate  502 upstream_error: `,
		`\(demo/wrong_index\)\n  direct    get_weather\(.*\) get_time\(\{\}\)  .*\n  callgate  get_weather\(.*\) get_time\(\{\}\) `,
		`\(demo/error_in_stream\)\n  direct    error in the answer: internal_error: .*\n  callgate  500 upstream_error: `,
		`\(demo/broken_args\)\n  direct    .*\[not JSON\].*\n  callgate  get_weather\(\{"city": "Oslo"\}\) .*repairs=args_json=1`,
		`\(broken/unavailable\)\n  direct    503 .*\n  callgate  503 circuit_open`,
	} {
		if !regexp.MustCompile(want).MatchString(output) {
			t.Errorf("got nothing like %s in:\n%s", want, output)
		}
	}
}

// TestDemoRows: every row is right through the gateway, a fault is none directly, and the sum is that
// of the rows.
func TestDemoRows(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(demoOutput(t, "--json")), "\n")
	var sum demoSum
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, line := range lines[:len(lines)-1] {
		var r demoResult
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if !r.Callgate.OK || r.Direct.OK != (r.Model == "demo/native") {
			t.Errorf("got direct %t, through Callgate %t: %s", r.Direct.OK, r.Callgate.OK, line)
		}
		if r.Direct.OK {
			direct++
		}
	}
	if n := len(lines) - 1; n < 80 || sum.Rows != n || sum.Callgate != n || sum.Direct != direct {
		t.Errorf("got %d rows and the sum %+v", n, sum)
	}
}

// TestDemoTable: the table has 80 columns at most, no colours where there is no terminal, and
// docs/demo.svg shows it as it is; "make picture" makes it again.
func TestDemoTable(t *testing.T) {
	t.Parallel()
	svg, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	picture := html.UnescapeString(regexp.MustCompile("</?tspan[^>]*>").ReplaceAllString(string(svg), ""))
	for line := range strings.Lines(demoOutput(t)) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > 80 || strings.Contains(line, "\x1b") {
			t.Errorf("got %d columns: %q", n, line)
		}
		if said, _, _ := strings.Cut(line, " in "); !strings.Contains(picture, ">"+said) {
			t.Errorf("docs/demo.svg does not show %q", line)
		}
	}
}

// TestDemoOptions: what does not go together is said.
func TestDemoOptions(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"guards", "--json"}, {"--details", "--json"}, {"structured", "--details"}} {
		if status, _, stderr := command(t, "", append([]string{"demo"}, args...)...); status != exitUsage || !strings.Contains(stderr, "--json") {
			t.Errorf("demo %v: got status %d and %q", args, status, stderr)
		}
	}
}
