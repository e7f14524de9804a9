package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
)

// Cost is what a parser costs in the sandbox. Times are the least of many rounds, in which
// the parsers take turns, so that what else a machine does hits none of them alone. A
// number that could not be measured is 0.
type Cost struct {
	Parser   string  `json:"parser"`
	Plugin   string  `json:"plugin"`
	Response float64 `json:"response_us"`       // a response that only asks can_parse: the reset of the memory
	Short    float64 `json:"short_us_per_kb"`   // calls as short as the example, one after the other
	Long     float64 `json:"long_us_per_kb"`    // one call with an argument of 16 KB
	Load     float64 `json:"load_ms"`           // of the whole plugin; compiled code may come from the cache
	Compile  float64 `json:"compile_ms"`        // of Load
	Pages    int     `json:"pages"`             // of 64 KiB, that an instance begins with
	MaxPages int     `json:"max_pages"`         // 0: up to the gateway's limit
	Size     int     `json:"size"`              // bytes of the module
	Builtin  bool    `json:"builtin,omitempty"` // it is compared with
	Problem  string  `json:"problem,omitempty"` // why it was not measured
}

// costTime is how long each of a parser's costs is measured.
const costTime = 150 * time.Millisecond

// longText is the argument of a long call.
var longText = strings.Repeat("words and more words of a text, ", 512)

// workload are the regions of one way to use a parser.
type workload struct {
	region []byte
	times  int // regions of a response
}

func (w workload) kilobytes() float64 { return float64(len(w.region)*w.times) / 1024 }

// RefusedError is why a plugin cannot be measured: no gateway loads it.
type RefusedError struct{ Plugin, Problem string }

// Error implements error, in one line.
func (e *RefusedError) Error() string { return plaintext.Line("plugin " + e.Plugin + ": " + e.Problem) }

// Costs compares what the parsers of a plugin cost with what built-in ones do. A parser
// that fails on its own example is in the result with its Problem; a plugin that does not
// load is a *RefusedError.
func Costs(ctx context.Context, cfg Config) ([]Cost, error) {
	t, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer t.host.Close(context.WithoutCancel(ctx))
	parsers, ok := t.load(ctx)
	if !ok {
		return nil, &RefusedError{cfg.Plugin.Name, t.report.Failures[0].Problem}
	}
	subjects, err := t.subjects(ctx, parsers)
	if err != nil {
		return nil, err
	}
	return comparison{t}.costs(ctx, subjects)
}

// comparison measures parsers side by side.
type comparison struct{ trial *trial }

// costs are those of the subjects and of what they are compared with.
func (m comparison) costs(ctx context.Context, subjects []*subject) ([]Cost, error) {
	rows := make([]*costing, 0, len(subjects))
	for _, s := range subjects {
		rows = append(rows, m.costing(ctx, s, m.trial.cfg.Plugin.Name))
	}
	against, err := m.against(subjects)
	if err != nil {
		return nil, err
	}
	for _, s := range against {
		c := m.costing(ctx, s, m.trial.cfg.Builtin.Name)
		c.Builtin = true
		rows = append(rows, c)
	}
	m.measure(ctx, rows)
	out := make([]Cost, len(rows))
	for i, r := range rows {
		out[i] = r.Cost
	}
	return out, context.Cause(ctx)
}

// costing is a parser that is measured.
type costing struct {
	Cost

	subject     *subject
	short, long workload
}

// costing prepares a parser: its texts, and whether it reads them.
func (m comparison) costing(ctx context.Context, s *subject, plugin string) *costing {
	c := &costing{Cost: Cost{Parser: s.Name, Plugin: plugin}, subject: s}
	for _, loaded := range m.trial.host.Modules() {
		if loaded.Plugin == plugin {
			c.Size, c.Pages, c.MaxPages = loaded.Size, loaded.Pages, loaded.MaxPages
			c.Load, c.Compile = millis(loaded.Load), millis(loaded.Compile)
		}
	}
	text := s.Example
	if text == "" {
		for _, k := range s.cases {
			if strings.Contains(k.Events, "call_end") {
				text = k.Input
				break
			}
		}
	}
	if text == "" {
		c.Problem = "it has neither an example nor a case with a call"
		return c
	}
	c.short = workload{[]byte(text), max(1, 4<<10/len(text))}
	if strings.Contains(text, "Oslo") {
		c.long = workload{[]byte(strings.Replace(text, "Oslo", longText, 1)), 1}
	}
	for _, w := range []workload{c.short, c.long} {
		if _, err := m.respond(ctx, c, w); err != nil {
			c.Problem = err.Error()
		}
	}
	return c
}

// respond is a response with the regions of a workload, and how long it took.
func (m comparison) respond(ctx context.Context, c *costing, w workload) (time.Duration, error) {
	began := time.Now()
	session := m.trial.host.Session()
	defer session.Close()
	if w.times == 0 {
		_, err := session.CanParse(ctx, c.Parser, nil)
		return time.Since(began), err
	}
	for range w.times {
		if err := m.region(ctx, session, c, w.region); err != nil {
			return 0, err
		}
	}
	session.Close()
	return time.Since(began), nil
}

// region reads one region, as the gateway does.
func (m comparison) region(ctx context.Context, session *plugins.Session, c *costing, text []byte) error {
	if _, err := session.CanParse(ctx, c.Parser, text[:min(len(text), abi.MaxHead)]); err != nil {
		return m.trial.explain(err)
	}
	run, err := session.Open(ctx, c.Parser, c.subject.options)
	if err != nil {
		return m.trial.explain(err)
	}
	defer run.Close()
	if _, err = run.Feed(ctx, text); err == nil {
		_, err = run.Finish(ctx, abi.Stop)
	}
	if err != nil {
		return m.trial.explain(err)
	}
	return nil
}

// measure lets the parsers take turns.
func (m comparison) measure(ctx context.Context, rows []*costing) {
	least := func(at *float64, w workload, c *costing, kilobytes float64) {
		if d, err := m.respond(ctx, c, w); err == nil {
			if us := float64(d) / float64(time.Microsecond) / kilobytes; *at == 0 || us < *at {
				*at = us
			}
		}
	}
	for end := time.Now().Add(costTime * time.Duration(3*len(rows))); time.Now().Before(end) && ctx.Err() == nil; {
		for _, c := range rows {
			if c.Problem != "" {
				continue
			}
			least(&c.Response, workload{}, c, 1)
			least(&c.Short, c.short, c, c.short.kilobytes())
			if c.long.times > 0 {
				least(&c.Long, c.long, c, c.long.kilobytes())
			}
		}
	}
	for _, c := range rows {
		for _, v := range []*float64{&c.Response, &c.Short, &c.Long, &c.Load, &c.Compile} {
			*v = math.Round(*v*100) / 100
		}
	}
}

// against are the built-in parsers to compare with.
func (m comparison) against(subjects []*subject) ([]*subject, error) {
	if len(m.trial.cfg.Builtin.Wasm) == 0 {
		return nil, nil
	}
	names := m.trial.cfg.Against
	if names == nil {
		for _, s := range subjects {
			names = append(names, family(s.Example)...)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	var out []*subject
	builtin := m.trial.host.Modules()[0].Manifest.Parsers
	for _, name := range names {
		i := slices.IndexFunc(builtin, func(p abi.Parser) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no built-in parser %q to compare with; callgate plugin list shows those that there are", name)
		}
		out = append(out, &subject{Parser: &builtin[i], options: abi.Options{Tools: subjects[0].options.Tools}})
	}
	return out, nil
}

// family are the built-in parsers whose form is like that of an example: JSON, with the
// name in it or in front of it, tags for parameters, or Python.
func family(example string) []string {
	json, call, tag := strings.Index(example, `{"`), strings.Index(example, "("), strings.Index(example, "</")
	switch name := strings.Index(example, "get_weather"); {
	case json >= 0 && name >= 0 && name < json:
		return []string{"hermes", "mistral"}
	case json < 0 && call >= 0:
		return []string{"lfm2"}
	case json < 0 && tag >= 0:
		return []string{"glm45", "qwen3_coder"}
	}
	return []string{"hermes"}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
