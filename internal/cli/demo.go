package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/providers/demo"
)

type demoCmd struct {
	What  string `arg:"" optional:"" enum:"all,faults,formats,guards" default:"all" help:"What to show: faults, formats, guards or all."`
	Whole bool   `help:"Ask for whole answers, not for streams."`
}

// Run asks the demo upstream over HTTP what an app would, once directly and once
// through a gateway, and prints both.
func (d demoCmd) Run(e *env) error {
	stage, err := newStage(e)
	if err != nil {
		return err
	}
	defer stage.close()
	stage.whole = d.Whole
	shows := []struct {
		name string
		show func() error
	}{{"faults", stage.faults}, {"formats", stage.formats}, {"guards", stage.guards}}
	if d.What != "guards" {
		fmt.Fprintf(e.stdout, "The user asks: %q and the app offers get_weather and get_time.\n", demoPrompt)
	}
	for _, s := range shows {
		if d.What != "all" && d.What != s.name {
			continue
		}
		if err := s.show(); err != nil {
			return err
		}
	}
	return nil
}

const demoPrompt = "What is the weather in Oslo and the time?"

// demoConfig is the configuration of the gateway: what one in front of upstreams that
// fail would have, and what the guard scenes show.
func demoConfig() string {
	text := faultConfig + demoUpstream + customDemo + "models:" + demoFallback
	for _, sc := range guardScenes() {
		text += sc.config
	}
	return text
}

const faultConfig = `
heartbeat: 0s
plugins: {dir: ""}
providers:
  demo: {type: demo}
  reject: {type: demo, on_invalid_call: reject}
  broken: {type: demo, circuit_breaker: {failure_threshold: 3}}
  down: {type: demo}
  retry: {type: demo, retry: {max_retries: 2, base_delay: 100ms}}
`

const demoFallback = `
  fallback:
    targets:
      - {provider: down, model: unavailable}
      - {provider: demo, model: hermes}
`

// customDemo is the format of the model demo/custom, which no parser of its own
// reads.
const customDemo = `
parsers:
  demo_custom: {start: "<<call ", end: ">>", body: name_json}
`

// stage is a demo upstream and a gateway in front of it, each on an address.
type stage struct {
	e        *env
	whole    bool // answers are not streamed
	sys      *system
	upstream *directUpstream
	direct   string // base URLs
	through  string
	servers  []*http.Server
}

func newStage(e *env) (_ *stage, err error) {
	s := &stage{e: e, upstream: &directUpstream{provider: demo.New(demo.Config{Delay: time.Millisecond})}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.direct, err = s.serve(&http.Server{Handler: s.upstream, ReadHeaderTimeout: 10 * time.Second}); err != nil {
		return nil, err
	}
	cfg, err := config.Parse("demo", []byte(demoConfig()), func(name string) (string, bool) { return s.direct, name == "UPSTREAM" })
	if err != nil {
		return nil, err
	}
	if s.sys, err = wire(e.ctx, cfg, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	s.sys.parsers.compiling = e.compiling
	if err = s.sys.parsers.load(e.ctx, true); err != nil {
		return nil, err
	}
	s.through, err = s.serve(s.sys.now().server.HTTP())
	return s, err
}

// serve serves on a free port and returns the API's base URL.
func (s *stage) serve(server *http.Server) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(s.e.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.servers = append(s.servers, server)
	go func() { _ = server.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String() + "/v1", nil
}

func (s *stage) close() {
	for _, server := range s.servers {
		_ = server.Close()
	}
	if s.sys != nil {
		_ = s.sys.close(context.WithoutCancel(s.e.ctx))
	}
}

// manner is how the app asks.
func (s *stage) manner() string {
	if s.whole {
		return "whole"
	}
	return "streamed"
}

// formats shows what each model writes and what the app gets.
func (s *stage) formats() error {
	fmt.Fprintf(s.e.stdout, "\nModels that write calls as text, %s, from the model directly and through Callgate:\n\n", s.manner())
	w := tabwriter.NewWriter(s.e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL WRITES\tDIRECT: FINISH\tCALLS\tTEXT\tCALLGATE: FINISH\tCALLS")
	for _, m := range demo.Formats() {
		direct, err := s.askWeather(s.direct, m)
		if err != nil {
			return err
		}
		through, err := s.askWeather(s.through, "demo/"+m)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m, direct.finish, direct.list(), shorten(direct.text, narrow), through.finish, through.list())
	}
	return w.Flush()
}

// scene is something that goes wrong.
type scene struct {
	title  string
	direct string // the model, asked directly
	model  string // the same through the gateway
	before int    // requests before it, through the gateway
}

// scenes are those that the demo shows.
func scenes() []scene {
	same := func(title, model string) scene { return scene{title: title, direct: model, model: "demo/" + model} }
	return []scene{
		same("a call as text", "hermes"),
		same("arguments with trailing commas, bare keys, single quotes", "broken_args"),
		same("two parallel calls that both say index 0", "wrong_index"),
		same("no arguments: an empty string, which is not JSON", "empty_args"),
		same("the same arguments twice in one call", "concatenated"),
		same("GetWeather for get_weather", "wrong_name"),
		same("calls without ids", "missing_id"),
		same("finish_reason \"stop\" behind a call", "stop_reason"),
		same("arguments that nobody can repair: passed on and reported, never {}", "irreparable"),
		{title: "the same, with on_invalid_call: reject", direct: "irreparable", model: "reject/irreparable"},
		same("429 with Retry-After", "rate_limited"),
		{title: "503 every other time, with max_retries: 2", direct: "flaky", model: "retry/flaky"},
		same("an answer with nothing in it", "empty"),
		same("a stream that is cut", "cut"),
		same("an error in the place of the first chunk", "error_in_stream"),
		{title: "an upstream that is down, with a second target", direct: "unavailable", model: "fallback"},
		{title: "one that stays down: the breaker is open after 3 failures", direct: "unavailable", model: "broken/unavailable", before: 3},
	}
}

// faults shows what goes wrong, and what the app gets.
func (s *stage) faults() error {
	fmt.Fprintf(s.e.stdout, "\nUpstreams that fail and models that misspell, %s, directly and through Callgate:\n", s.manner())
	for _, sc := range scenes() {
		direct, err := s.askWeather(s.direct, sc.direct)
		if err != nil {
			return err
		}
		for range sc.before {
			if _, err := s.askWeather(s.through, sc.model); err != nil {
				return err
			}
		}
		through, err := s.askWeather(s.through, sc.model)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.e.stdout, "\n%s (%s)\n  direct    %s\n  callgate  %s\n", sc.title, sc.model, direct, through)
	}
	var open []string
	for _, b := range s.sys.now().gateway.Breakers() {
		open = append(open, fmt.Sprintf("%s %s (%d failures)", b.Name, b.State, b.Totals.Failures))
	}
	slices.Sort(open)
	fmt.Fprintf(s.e.stdout, "\nCircuit breakers, as GET /admin/breakers says: %s\n", strings.Join(open, ", "))
	return nil
}
