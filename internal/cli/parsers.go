package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/resident"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
	"github.com/callgate/callgate/plugins/folder"
	"github.com/callgate/callgate/plugins/oci"
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
	"github.com/callgate/callgate/wasm-parsers/template"
)

// The built-in parsers that read formats of the configuration.
const (
	customParser   = "custom"
	templateParser = "response_template"
)

// maxPlans is how many plans are kept: one for each pair of a target and a model's
// name, and a route for any model may meet very many names.
const maxPlans = 256

// parsers joins the plugin host to the gateway as one configuration says: it makes plans of
// what the host and the configuration hold. Those of the first configuration load the plugins,
// in the background.
type parsers struct {
	*plugged
	custom map[string]config.CustomParser
	// templates are the texts of the response templates of custom. checkCustom reads them.
	templates     map[string]string
	templatesHash string // stands for them
	needs         func(names []string) error
	plans         *lru.Cache[planKey, *chain.Plan]
	degraded      atomic.Bool // a parser that a model names is missing, and its plugin may still come
}

// plugged is the plugin host and what fills it. It lives as long as the process.
type plugged struct {
	host      *plugins.Host
	dir       string // keeps what is compiled; "": nothing is kept
	compiling func() // is called before the built-in parsers are compiled from source
	folder    *folder.Folder
	pulls     []oci.Ref
	pulled    string // the directory that keeps them; "": none
	log       *slog.Logger
	loaded    chan struct{} // closed when loading is over
	failed    atomic.Pointer[error]
	current   atomic.Pointer[parsers] // of the configuration that is in force
	once      sync.Once               // loadOnce
	begun     sync.WaitGroup          // a load that began before the gateway serves
}

// newParsers makes a plugin host as the configuration says. load fills it. took is
// told how long parsers work, and may be nil.
func newParsers(ctx context.Context, cfg *config.Config, took func(parser string, d time.Duration), log *slog.Logger) (*parsers, error) {
	p, l := cfg.Plugins, cfg.Plugins.Limits
	dir, err := cacheDir(p.CacheDir)
	if err != nil {
		log.Warn("compiled parsers are not kept", "error", err)
	}
	host, err := plugins.New(ctx, plugins.Config{
		CacheDir:  dir,
		Isolation: p.Isolation,
		Limits: plugins.Limits{
			Input: int(l.Input), Time: time.Duration(l.Time), Total: time.Duration(l.Total),
			Memory: int(l.Memory), Output: int(l.Output), Handles: l.Handles, Depth: l.Depth,
			CompileTime: time.Duration(l.CompileTime), CompileMemory: int(l.CompileMemory),
		},
		Compiler:   compiler,
		Failures:   p.Quarantine.Failures,
		Quarantine: time.Duration(p.Quarantine.Open),
		Took:       took,
		Log:        log,
	})
	if err != nil {
		return nil, err
	}
	all := &plugged{host: host, dir: dir, compiling: func() { log.Warn(compilingParsers) }, log: log, loaded: make(chan struct{})}
	if err := all.prepare(p, dir, log); err != nil {
		return nil, errors.Join(err, host.Close(ctx))
	}
	out := all.of(cfg)
	all.current.Store(out)
	return out, nil
}

// of are the parsers as a configuration has them.
func (p *plugged) of(cfg *config.Config) *parsers {
	plans, _ := lru.New[planKey, *chain.Plan](maxPlans) // the size is good
	return &parsers{plugged: p, custom: cfg.Parsers, templates: map[string]string{}, plans: plans, needs: cfg.CheckParsers}
}

// next are the parsers as a configuration has them that was read later: what it declares and
// names is checked as load does it. They are used from begin on.
func (p *parsers) next(ctx context.Context, cfg *config.Config) (*parsers, error) {
	select {
	case <-p.loaded:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := p.of(cfg)
	if p.failed.Load() != nil { // nothing is loaded that it could be checked against
		return out, nil
	}
	if out.interprets() && !slices.ContainsFunc(p.host.Parsers(), func(i plugins.Info) bool { return i.Name == templateParser }) {
		if err := out.loadModule(ctx, builtin.Template); err != nil {
			return nil, err
		}
	}
	if err := out.checkCustom(ctx); err != nil {
		return nil, err
	}
	if err := out.needs(out.names(p.host.Parsers())); err != nil {
		if !p.degraded.Load() || len(p.notLoaded()) == 0 {
			return nil, err
		}
		out.degraded.Store(true) // as it was; a file may repair it
	}
	return out, nil
}

// begin has what is loaded from now on checked against these parsers.
func (p *parsers) begin() {
	p.current.Store(p)
	if p.failed.Load() == nil && p.needs(p.names(p.host.Parsers())) != nil {
		p.degraded.Store(true) // a plugin has gone since next
	}
}

// loadConfig reads a configuration file, or with none makes a configuration from the environment.
func loadConfig(file string, environment func(string) (string, bool)) (*config.Config, error) {
	if file == "" {
		return config.FromEnv(environment), nil
	}
	return config.Load(file)
}

// parsers loads the parsers of a configuration, see loadConfig. The caller closes their host.
func (e *env) parsers(file string, environment func(string) (string, bool), log *slog.Logger) (*parsers, error) {
	cfg, err := loadConfig(file, environment)
	if err != nil {
		return nil, err
	}
	p, err := newParsers(e.ctx, cfg, nil, log)
	if err != nil {
		return nil, err
	}
	p.compiling = e.compiling
	if err := p.load(e.ctx, true); err != nil {
		return nil, errors.Join(err, p.host.Close(e.ctx))
	}
	e.tellRefused(p)
	return p, nil
}

// tellRefused names the plugins of the directory that are not loaded, to a person.
func (e *env) tellRefused(p *parsers) {
	for _, refusal := range p.refusals() {
		fmt.Fprintln(e.stderr, "callgate: plugin", refusal)
	}
}

// compilingParsers is said before a program that came without its parsers compiles them.
const compilingParsers = "compiling the parsers, which go install leaves out; the first time this takes up to a minute"

// compiling says so to a person.
func (e *env) compiling() { fmt.Fprintln(e.stderr, "callgate:", compilingParsers) }

// builtin returns the module of a name for commands without a configuration.
func (e *env) builtin(name string) ([]byte, error) {
	dir, _ := cacheDir("") // without a cache it only takes longer
	return builtin.Load(e.ctx, name, dir, e.compiling)
}

// cacheDir is where compiled code is kept: what the configuration says, or a
// directory of our own in the user's cache directory.
func cacheDir(configured string) (string, error) {
	switch configured {
	case "off":
		return "", nil
	case "":
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, "callgate", "wazero"), nil
	}
	return configured, nil
}

// load loads the built-in parsers, those that are pulled, and those of the plugins
// directory, and checks the names of parsers that the configuration uses. A broken built-in
// module is an error, and so is one that is pulled. A broken plugin of the directory is named, and
// the others are used without it. Where a model needs a parser that is missing for it, that is an
// error if strict is set; else the model is refused until a good file comes.
func (p *parsers) load(ctx context.Context, strict bool) (err error) {
	defer close(p.loaded)
	defer func() {
		if err != nil {
			p.failed.Store(&err)
		}
	}()
	if err := p.loadBuiltin(ctx); err != nil {
		return err
	}
	if err := p.pull(ctx); err != nil {
		return err
	}
	if err := p.checkCustom(ctx); err != nil {
		return err
	}
	if err := p.loadFolder(ctx, strict); err != nil {
		return err
	}
	if slices.ContainsFunc(p.host.Modules(), func(m plugins.ModuleInfo) bool { return m.Code != plugins.CodeShared }) {
		resident.Release() // loading takes more than serving
	}
	return nil
}

// loadOnce loads as load does, unless that was done, and gives its error.
func (p *parsers) loadOnce(ctx context.Context) error {
	p.once.Do(func() { _ = p.load(ctx, false) })
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// loadBuiltin loads the parsers of known formats, and the interpreter of response
// templates if the configuration has one.
func (p *parsers) loadBuiltin(ctx context.Context) error {
	if err := p.loadModule(ctx, builtin.Name); err != nil || !p.interprets() {
		return err
	}
	return p.loadModule(ctx, builtin.Template)
}

// interprets reports whether the configuration has a response template.
func (p *parsers) interprets() bool {
	for _, c := range p.custom {
		if c.ResponseTemplate != "" {
			return true
		}
	}
	return false
}

// loadModule loads a built-in module.
func (p *plugged) loadModule(ctx context.Context, name string) error {
	wasm, err := builtin.Load(ctx, name, p.dir, p.compiling)
	if err != nil {
		return err
	}
	return p.host.Load(ctx, plugins.Source{Name: name, Wasm: wasm, Trusted: true})
}

// ready says why parsers cannot be used yet, or nil.
func (p *parsers) ready() error {
	select {
	case <-p.loaded:
	default:
		return errors.New("parsers are being compiled")
	}
	if err := p.failed.Load(); err != nil {
		return fmt.Errorf("parsers: %w", *err)
	}
	return p.lacking()
}

// planKey is what a plan is made of. No name has a zero byte.
type planKey struct {
	version         uint64
	auto, reasoning bool
	names, model    string
}

// Plan implements gateway.ParserSource.
func (p *parsers) Plan(ctx context.Context, spec gateway.ParserSpec, model string) (*chain.Plan, gateway.ParserSession, error) {
	select {
	case <-p.loaded:
	case <-ctx.Done():
		if late := new(gateway.Error); errors.As(context.Cause(ctx), &late) { // the request's own time is over
			return nil, nil, late
		}
		return nil, nil, &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: ctx.Err()}
	}
	if err := p.failed.Load(); err != nil {
		return nil, nil, &gateway.Error{Kind: gateway.Overloaded, Code: "plugin_error", Message: "The gateway's parsers could not be loaded.", Err: *err}
	}
	s := session{p.host.Session(), p.templatesHash}
	if err := p.lacks(s, spec); err != nil {
		s.Close()
		return nil, nil, err
	}
	key := planKey{s.Version(), spec.Auto, spec.Reasoning, strings.Join(spec.Names, "\x00"), model}
	plan, ok := p.plans.Get(key)
	if !ok {
		plan = chain.NewPlan(p.candidates(s.Parsers(), spec), chain.PlanOptions{Model: model, Reasoning: spec.Reasoning, Auto: spec.Auto})
		p.plans.Add(key, plan)
	}
	return plan, s, nil
}

// Fingerprint implements gateway.Fingerprinter. Until the parsers are loaded it is "".
func (p *parsers) Fingerprint() string {
	if p.ready() != nil {
		return ""
	}
	return p.host.Fingerprint() + p.templatesHash
}

// candidates are those of the parsers that spec names, and always the fallback.
func (p *parsers) candidates(infos []plugins.Info, spec gateway.ParserSpec) []chain.Candidate {
	wanted := func(names ...string) bool {
		return spec.Auto || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(spec.Names, n) })
	}
	var out []chain.Candidate
	for _, info := range infos {
		if info.Name == customParser || info.Name == templateParser {
			continue // they have no format but those of the configuration
		}
		if info.Name == chain.Fallback || wanted(append([]string{info.Name}, info.Aliases...)...) {
			out = append(out, chain.NewCandidate(&info.Parser))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.custom)) {
		c := p.custom[name]
		switch {
		case !wanted(name):
		case c.ResponseTemplate != "":
			if !spec.Auto { // it reads any text, so somebody has to want it
				out = append(out, chain.Candidate{Name: name, Parser: templateParser, Priority: c.Priority,
					Starts: []string{""}, Models: c.Models, Framing: true, Settings: p.settings(name)})
			}
		default:
			out = append(out, chain.Candidate{Name: name, Parser: customParser, Priority: c.Priority,
				Triggers: []string{c.Start}, Models: c.Models, Heuristic: true, Settings: p.settings(name)})
		}
	}
	return out
}

// settings are what the parser custom is told of a format, or the interpreter of its
// template. They refuse what they have no use for.
func (p *parsers) settings(name string) []abi.Setting {
	c := p.custom[name]
	if c.ResponseTemplate != "" {
		return []abi.Setting{{Key: "template", Value: p.templates[name]}}
	}
	out := []abi.Setting{{Key: "start", Value: c.Start}, {Key: "end", Value: c.End}, {Key: "body", Value: c.Body}}
	if c.Body == "name_json" {
		return append(out, abi.Setting{Key: "separator", Value: c.Separator})
	}
	return append(out, abi.Setting{Key: "name_key", Value: c.NameKey}, abi.Setting{Key: "arguments_key", Value: c.ArgumentsKey})
}

// checkCustom opens every format of the configuration once, so that settings which
// the parser refuses are found at the start and not with the first answer.
func (p *parsers) checkCustom(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(p.custom)) {
		parser, spec := customParser, taggedjson.Custom()
		if file := p.custom[name].ResponseTemplate; file != "" {
			parser, spec = templateParser, template.ResponseTemplate()
			text, err := readTemplate(file)
			if err != nil {
				return fmt.Errorf("parsers.%s.response_template: %w", name, err)
			}
			p.templates[name] = text
		}
		// The parser itself says what is wrong; across the sandbox's border it can only refuse.
		if _, err := spec.New(sdk.Options{Settings: p.settings(name)}); err != nil {
			return fmt.Errorf("parsers.%s: %w", name, err)
		}
		s := p.host.Session()
		run, err := s.Open(ctx, parser, abi.Options{Settings: p.settings(name)})
		if err == nil {
			run.Close()
		}
		s.Close()
		if err != nil {
			return fmt.Errorf("parsers.%s: these settings make no format: %w", name, err)
		}
	}
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(p.templates)) {
		fmt.Fprintf(all, "%q %q\n", name, p.templates[name])
	}
	p.templatesHash = hex.EncodeToString(all.Sum(nil))
	return nil
}

// names are all names that a target may use where these are loaded: parsers, their
// aliases, and formats of the configuration.
func (p *parsers) names(infos []plugins.Info) []string {
	var names []string
	for _, info := range infos {
		if info.Name == customParser || info.Name == templateParser {
			continue // without a format of the configuration they read nothing
		}
		names = append(append(names, info.Name), info.Aliases...)
	}
	names = append(names, slices.Collect(maps.Keys(p.custom))...)
	slices.Sort(names)
	return slices.Compact(names)
}

// session makes a session of the plugin host a gateway.ParserSession.
type session struct {
	*plugins.Session
	templates string // stands for the response templates, which are code as well
}

// Fingerprint implements gateway.Fingerprinter.
func (s session) Fingerprint() string { return s.Session.Fingerprint() + s.templates }

// Open implements chain.Runner.
func (s session) Open(ctx context.Context, parser string, opts abi.Options) (chain.Run, error) {
	run, err := s.Session.Open(ctx, parser, opts)
	if err != nil {
		return nil, err
	}
	return run, nil
}

// spec turns the configuration's word for a target's parsers into the gateway's.
func parserSpec(p config.Parsers, reasoning string) gateway.ParserSpec {
	spec := gateway.ParserSpec{Auto: p.IsAuto(), Reasoning: reasoning != "none" && !p.IsNone()}
	if !p.IsAuto() {
		for _, name := range p.Names() {
			spec.Names = append(spec.Names, strings.ToLower(name))
		}
	}
	return spec
}
