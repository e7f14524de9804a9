package cli

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// A guardCase is a request, what the upstream answers to it time after time, and what
// the client and the upstream get. It is a txtar file of testdata/guards, whose comment
// says what it shows:
//
//	route.yaml       keys of the model, as in models: {m: {…}}, each on a line of its own
//	target.yaml      keys of the target, likewise
//	provider.yaml    keys of its provider, likewise; the type is openai if it has none
//	second.yaml      keys of a second target with a provider of its own; there is one if the file is
//	gateway.yaml     keys at the top of the configuration; the case has a gateway for itself then
//	request.json     the client's request without model and stream
//	direct           is there if the client asks for the provider's model, which has no entry
//	request.txt      its headers, "NAME: VALUE"
//	only             "whole" or "stream" if the case is not played in both ways
//	upstream/N.json  the Nth answer, of either target: see guardAnswer; the last one is repeated
//	want.json        what the client gets: content, reasoning, calls ["name(arguments)"], finish_reason,
//	                 those of further choices in choice1 and so on; execution; or status, code, message
//	                 and param of an error. What is not there is not looked at, but for an error
//	want/header.txt  headers of a whole answer, NAME: REGEXP; "NAME:" is one that is not there. Of a
//	                 stream, they are headers or stand in a comment
//	want/stream.json, want/stream.txt  in place of these two for a stream, where it differs
//	want/sent/N.json members of the Nth request upstream; "first" and "last" are messages of it, "count" is
//	                 how many it has, "target" is first or second, null one that is not there, "~…" a REGEXP
//	want/raw/N/NAME  a member of the Nth request upstream byte for byte
//	want/requests    how many there are
//	want/metrics     lines of the metrics; ROUTE in them is the model of the client
//	want/asked       is there if the first of them must be the client's byte for byte, but for the model
//	want/same        is there if the answer must be the upstream's byte for byte; with the word "data"
//	                 comments of a stream do not count
//
// DATE(ZONE) in any of them is the line that tells the date in a time zone when the case is played.
type guardCase struct {
	name  string
	files map[string]string
}

func guardCases(t *testing.T) []guardCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/guards/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got no cases: %v", err)
	}
	var cases []guardCase
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		c := guardCase{strings.TrimSuffix(filepath.Base(p), ".txtar"), map[string]string{}}
		for _, f := range txtar.Parse(b).Files {
			if !guardFile.MatchString(f.Name) {
				t.Errorf("%s: nothing reads the file %s", p, f.Name)
			}
			c.files[f.Name] = strings.TrimSpace(string(f.Data))
		}
		cases = append(cases, c)
	}
	return cases
}

// guardFile is what the files of a case may be called.
var guardFile = regexp.MustCompile(`^(((route|target|provider|second|gateway)\.yaml)|request\.json|request\.txt|only|direct|` +
	`upstream/[1-9]\.json|want\.json|want/(header\.txt|stream\.json|stream\.txt|requests|metrics|asked|same|sent/[1-9]\.json|raw/[1-9]/\w+))$`)

var dateMark = regexp.MustCompile(`DATE\(([\w/]+)\)`)

// dated writes the date's line where a text has a mark for it.
func dated(t *testing.T, text string, now time.Time) string {
	t.Helper()
	return dateMark.ReplaceAllStringFunc(text, func(mark string) string {
		zone, err := time.LoadLocation(dateMark.FindStringSubmatch(mark)[1])
		if err != nil {
			t.Fatal(err)
		}
		return now.In(zone).Format("Today's date is Monday, 2 January 2006 (2006-01-02).")
	})
}

// guardPlay is a case that is played in one of two ways, with a model and an upstream of
// its own.
type guardPlay struct {
	guardCase
	stream bool
	model  string
	up     *guardUpstream
	// tongue is the protocol that it is played in; nil for chat completions.
	tongue *tongue
}

func (c guardCase) plays(t *testing.T) (plays []*guardPlay) {
	t.Helper()
	for _, way := range []string{"whole", "stream"} {
		if only := c.files["only"]; only == "" || only == way {
			p := &guardPlay{guardCase: c, stream: way == "stream", model: c.name + "-" + way}
			p.up = &guardUpstream{files: c.files}
			p.up.url = upstream(t, p.up.answer)
			plays = append(plays, p)
		}
	}
	return plays
}

// TestGuards plays each case whole and streamed, over HTTP. One gateway has the routes
// of nearly all.
func TestGuards(t *testing.T) {
	t.Parallel()
	var shared []*guardPlay
	for _, c := range guardCases(t) {
		plays := c.plays(t)
		if c.files["gateway.yaml"] == "" {
			shared = append(shared, plays...)
			continue
		}
		for _, p := range plays {
			t.Run(p.model, func(t *testing.T) {
				t.Parallel()
				p.play(t, serve(t, guardConfig(p)))
			})
		}
	}
	g := serve(t, guardConfig(shared...))
	for _, p := range shared {
		t.Run(p.model, func(t *testing.T) {
			t.Parallel()
			p.play(t, g)
		})
	}
}

// guardConfig is the configuration of a gateway for some plays.
func guardConfig(plays ...*guardPlay) string {
	providers, models := "providers:\n", "models:\n"
	for _, p := range plays {
		target := func(name, keys, providerKeys string) string {
			if !strings.Contains(providerKeys, "type:") {
				providerKeys = "type: openai\n" + providerKeys
			}
			providers += fmt.Sprintf("  %s:\n    base_url: %s\n", name, p.up.url) + indented("    ", providerKeys)
			return fmt.Sprintf("    - provider: %s\n      model: up\n", name) + indented("      ", keys)
		}
		models += fmt.Sprintf("  %s:\n", p.model) + indented("    ", p.files["route.yaml"]) + "    targets:\n" +
			target(p.model, p.files["target.yaml"], p.files["provider.yaml"])
		if second, ok := p.files["second.yaml"]; ok {
			models += target(p.model+"-2", second, fmt.Sprintf("headers: {%s: second}", targetHeader))
		}
	}
	return "admin: {listen: \"127.0.0.1:0\"}\nlog: {level: error}\n" + indented("", plays[0].files["gateway.yaml"]) + providers + models
}

func indented(by, text string) (out string) {
	for line := range strings.Lines(text) {
		out += by + strings.TrimRight(line, "\n") + "\n"
	}
	return out
}

func (p *guardPlay) play(t *testing.T, g *gate) {
	p.files = maps.Clone(p.files) // the other way's too
	for name, text := range p.files {
		p.files[name] = dated(t, text, time.Now())
	}
	model := p.model
	if _, direct := p.files["direct"]; direct {
		model += "/up"
	}
	body := strings.Replace(p.files["request.json"], "{", fmt.Sprintf(`{"model":%q,"stream":%v,`, model, p.stream), 1)
	var header []string
	for line := range strings.Lines(p.files["request.txt"]) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		header = append(header, name, value)
	}
	r := g.chat(body, header...)
	if r.err != nil {
		t.Fatalf("got %v behind %q", r.err, r.body)
	}
	defer func() {
		if t.Failed() {
			t.Logf("the answer: status %d, %v\n%s", r.status, r.header, middleCut(r.body))
		}
	}()
	p.up.mu.Lock()
	defer p.up.mu.Unlock()
	if p.tongue == nil { // in others no byte can be the same
		p.checkSame(t, r)
	}
	p.checkAnswer(t, r)
	p.checkHeader(t, r)
	p.checkMetrics(t, g)
	sent := p.up.got
	if want, ok := p.files["want/requests"]; ok && want != fmt.Sprint(len(sent)) {
		t.Errorf("got %d requests upstream, want %s", len(sent), want)
	}
	if _, asked := p.files["want/asked"]; asked && len(sent) > 0 && p.tongue == nil {
		if want := strings.Replace(body, fmt.Sprintf("%q", model), `"up"`, 1); sent[0].body != want {
			t.Errorf("got other bytes upstream than the client's:\n got %s\nwant %s", sent[0].body, want)
		}
	}
	for i := range sent {
		p.checkSent(t, i+1, sent[i])
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		var n int
		if _, err := fmt.Sscanf(strings.TrimPrefix(strings.TrimPrefix(name, "want/sent/"), "want/raw/"), "%d", &n); err == nil && n > len(sent) {
			t.Errorf("got %d requests upstream, want one for %s", len(sent), name)
		}
	}
}

// checkSame compares the answer with the upstream's.
func (p *guardPlay) checkSame(t *testing.T, r result) {
	t.Helper()
	how, same := p.files["want/same"]
	body := r.body
	if how == "data" {
		body = callgateComment.ReplaceAllString(body, "")
	}
	if same && body != p.up.last {
		t.Errorf("got other bytes than the upstream's:\n got %q\nwant %q", middleCut(body), middleCut(p.up.last))
	}
	if same && r.status != http.StatusOK && p.up.status != r.status {
		t.Errorf("got status %d, want the upstream's %d", r.status, p.up.status)
	}
}

// middleCut leaves the middle of a long text out.
func middleCut(s string) string {
	const most = 700
	if len(s) <= 2*most {
		return s
	}
	return s[:most] + "…" + s[len(s)-most:]
}
