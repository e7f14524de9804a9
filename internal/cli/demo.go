package cli

import (
	"context"
	"errors"
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
	What    string `arg:"" optional:"" enum:"all,faults,formats,structured,guards" default:"all" help:"What to show: faults, formats, structured answers, all of these, or guards."`
	Whole   bool   `help:"Ask for whole answers, not for streams."`
	Details bool   `help:"Show what each side got, for faults and formats."`
	JSON    bool   `name:"json" help:"Print a line of JSON for each row, and one for the totals."`
}

// Run asks the demo upstream over HTTP what an app would, once directly and once
// through a gateway, and prints both.
func (d demoCmd) Run(e *env) error {
	if (d.Details || d.JSON) && d.What == "guards" || d.Details && d.JSON {
		return usageError{errors.New("guards has one form, and the others are shown with --details or with --json")}
	}
	stage, err := newStage(e)
	if err != nil {
		return err
	}
	defer stage.close()
	stage.whole = d.Whole
	switch {
	case d.What == "guards":
		return stage.guards()
	case d.Details:
		return stage.details(d.What)
	case d.What != "all":
		return stage.show([]string{d.What}, d.JSON)
	}
	if err := stage.show([]string{"faults", "formats", "structured"}, d.JSON); err != nil || d.JSON {
		return err
	}
	_, err = fmt.Fprintln(e.stdout, "What each side got: callgate demo --details\nClaims without a call, loops and more: callgate demo guards")
	return err
}

// details shows what each side of a row got.
func (s *stage) details(what string) error {
	if what == "structured" {
		return usageError{errors.New("structured has no details: callgate demo structured --json has each answer")}
	}
	fmt.Fprintf(s.e.stdout, "The user asks: %q and the app offers get_weather and get_time.\n", demoPrompt)
	if what != "formats" {
		if err := s.faults(); err != nil {
			return err
		}
	}
	if what != "faults" {
		return s.formats()
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
  strict: {type: demo, on_invalid_output: reask}
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
		direct, through, err := s.play(&demoRow{direct: m, model: "demo/" + m, body: weatherBody})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m, direct.finish, direct.list(), shorten(direct.text, narrow), through.finish, through.list())
	}
	return w.Flush()
}

// faults shows what goes wrong, and what the app gets.
func (s *stage) faults() error {
	fmt.Fprintf(s.e.stdout, "\nUpstreams that fail and models that misspell, %s, directly and through Callgate:\n", s.manner())
	for _, r := range faultRows() {
		direct, through, err := s.play(&r)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.e.stdout, "\n%s (%s)\n  direct    %s\n  callgate  %s\n", r.title, r.model, direct, through)
	}
	var open []string
	for _, b := range s.sys.now().gateway.Breakers() {
		open = append(open, fmt.Sprintf("%s %s (%d failures)", b.Name, b.State, b.Totals.Failures))
	}
	slices.Sort(open)
	fmt.Fprintf(s.e.stdout, "\nCircuit breakers, as GET /admin/breakers says: %s\n", strings.Join(open, ", "))
	return nil
}
