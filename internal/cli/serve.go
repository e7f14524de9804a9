package cli

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/gateway/socket"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/plugins/builtin"
)

type serveCmd struct {
	Config      string `short:"c" env:"CALLGATE_CONFIG"  type:"path" help:"Configuration file. Without one: the demo provider, and those whose own environment variables are set, such as OPENAI_API_KEY." placeholder:"FILE"`
	Listen      string `env:"CALLGATE_LISTEN" help:"Address to listen on, instead of the configuration's." placeholder:"ADDR"`
	Admin       string `env:"CALLGATE_ADMIN" help:"Address of the admin listener, instead of the configuration's; off for none." placeholder:"ADDR"`
	LogFormat   string `env:"CALLGATE_LOG_FORMAT" help:"Format of the log, instead of the configuration's: json, text or auto." enum:",auto,json,text" default:"" placeholder:"FORM"`
	LogLevel    string `env:"CALLGATE_LOG_LEVEL" help:"Lowest level that is logged, instead of the configuration's: debug, info, warn or error." enum:",debug,info,warn,error" default:"" placeholder:"LEVEL"`
	Reload      string `env:"CALLGATE_RELOAD" help:"When a running gateway reads its configuration again, instead of the configuration's reload: auto, signal or off." enum:",auto,signal,off" default:"" placeholder:"WHEN"`
	Upstream    string `env:"CALLGATE_UPSTREAM" help:"Base URL of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1, that serves every model name which nothing else claims." placeholder:"URL"`
	Parser      string `env:"CALLGATE_PARSER" help:"Parser for --upstream: a name, auto or none." default:"auto" placeholder:"NAME"`
	Tools       string `env:"CALLGATE_TOOLS" help:"How --upstream is told about tools: auto, native, or prompted, which needs --parser NAME." enum:"auto,native,prompted" default:"auto" placeholder:"HOW"`
	RawToolText string `env:"CALLGATE_RAW_TOOL_TEXT" help:"Ask --upstream for the model's own text, in the way of this server: vllm, sglang or llama.cpp." enum:",vllm,sglang,llama.cpp" default:"" placeholder:"SERVER"`
}

// Run serves until the process is told to stop, then lets running requests finish.
func (s *serveCmd) Run(e *env) error {
	hups, stop := hangups()
	defer stop()
	cfg, err := s.configuration()
	if err != nil {
		return usageError{err}
	}
	log, level := newLogger(e.stderr, cfg.Log)
	stdlog.SetFlags(0)
	stdlog.SetOutput(standardLog{log})
	redis.LogTo(log)
	warnOfVariables(log)
	if s.Config == "" {
		warnOfFile(log)
	}
	sys, err := wire(e.ctx, cfg, log)
	if err != nil {
		return unwired(err)
	}
	sys.reloads.from(s.configuration, s.Config, level)
	if err := s.checkParser(e.ctx, sys.parsers); err != nil {
		return usageError{errors.Join(err, sys.close(e.ctx))}
	}
	listeners, err := listen(e.ctx, cfg, log)
	if err != nil {
		sys.parsers.begun.Wait()
		return usageError{errors.Join(err, sys.close(e.ctx))}
	}
	greet(e, listeners, cfg)
	err = sys.serve(e.ctx, listeners, cfg, log, hups)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		return usageError{s.inFlags(err)}
	}
	return err
}

// warnOfFile says that a configuration which is here is not read: none is, unless it is named.
func warnOfFile(log *slog.Logger) {
	for _, name := range []string{"callgate.yaml", "callgate.yml"} {
		if _, err := os.Stat(name); err == nil {
			log.Warn("a configuration that is here is not read, as none was named", "file", name, "to_read_it", "callgate serve -c "+name)
		}
	}
}

// unwired is the error of a configuration that does not work. Nothing is wrong with the file if its
// database is away, so the status is another one: what started the gateway may start it again.
func unwired(err error) error {
	if errors.Is(err, store.ErrAway) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w; start it, or correct the URL", err)
	}
	return usageError{err}
}

// flagPatience is how long the start waits for parsers so that a wrong --parser is said before the gateway
// listens. Where they take longer, which is where they are compiled, it is said when they are there.
const flagPatience = 2 * time.Second

// checkParser says whether there is a parser of the name in --parser.
func (s *serveCmd) checkParser(ctx context.Context, p *parsers) error {
	if s.Upstream == "" || s.Parser == config.Auto || s.Parser == config.None {
		return nil
	}
	p.begun.Go(func() { _ = p.loadOnce(ctx) })
	late := time.NewTimer(flagPatience)
	defer late.Stop()
	select {
	case <-p.loaded:
	case <-late.C:
		return nil
	}
	if known := p.names(p.host.Parsers()); len(known) > 0 && !slices.Contains(known, s.Parser) {
		p.begun.Wait()
		return fmt.Errorf("--parser: %w", noParser(s.Parser, known))
	}
	return nil
}

// standardLog takes what packages write to the standard log: net/http quotes there what an
// upstream sends unasked. Nothing of what is quoted goes on.
type standardLog struct{ log *slog.Logger }

// Write implements io.Writer.
func (l standardLog) Write(p []byte) (int, error) {
	text, _, quoted := strings.Cut(strings.TrimSpace(string(p)), `"`)
	if quoted {
		text += "…"
	}
	l.log.Warn("library", "message", text)
	return len(p), nil
}

// listeners are where the gateway listens. admin is nil if nobody does.
type listeners struct{ api, admin net.Listener }

// listen opens the listeners. Nobody has asked for the admin listener if its address is the default,
// so another gateway that has it is no reason to stop.
func listen(ctx context.Context, cfg *config.Config, log *slog.Logger) (l listeners, err error) {
	var lc net.ListenConfig
	if l.api, err = lc.Listen(ctx, "tcp", cfg.Listen); err != nil {
		return l, cannotListen(cfg.Listen, "--listen", err)
	}
	log.Info("listening", "address", l.api.Addr().String())
	if cfg.Admin.Listen == config.Off {
		return l, nil
	}
	l.admin, err = lc.Listen(ctx, "tcp", cfg.Admin.Listen)
	switch {
	case err == nil:
		log.Info("admin listener is open", "address", l.admin.Addr().String())
	case cfg.AdminGiven():
		return l, errors.Join(cannotListen(cfg.Admin.Listen, "admin.listen", err), l.api.Close())
	default:
		log.Warn("no metrics and no admin API: the default address is taken; set admin.listen (--admin)", "address", cfg.Admin.Listen, "error", err)
		l.admin = nil
	}
	return l, nil
}

// cannotListen is the error of an address that the system does not give. setting is what it can be changed with.
func cannotListen(address, setting string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the address once more
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: %w; end the program that listens there, or set another address (%s)", address, err, setting)
	}
	return fmt.Errorf("listen on %s (%s): %w", address, setting, err)
}

// serve answers until ctx ends, and loads the parsers meanwhile. When it returns,
// nothing that it began is running any more.
func (sys *system) serve(ctx context.Context, l listeners, cfg *config.Config, log *slog.Logger, hups <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loaded, watched := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(watched)
		err := sys.parsers.loadOnce(ctx)
		loaded <- err
		sys.parsers.follow(ctx, err == nil && cfg.Plugins.Watch)
	}()
	reloading := make(chan struct{})
	go func() {
		defer close(reloading)
		sys.reloads.follow(ctx, hups)
	}()
	stopSharing, stopKeys := sys.shared.run(ctx), followKeys(ctx, sys.keys)
	sys.now().tools.Start()
	server := sys.now().server.HTTP()
	server.Handler = sys
	served := make(chan error, 1)
	go func() { served <- server.Serve(sys.now().server.Listener(l.api)) }()
	admin, ended := sys.now().admin.HTTP(), make(chan error, 1)
	admin.Handler = sys.operators()
	var adminEnded chan error // nil without an admin listener
	if l.admin != nil {
		adminEnded = ended
		go func() { ended <- admin.Serve(l.admin) }()
	} else {
		ended <- http.ErrServerClosed
	}
	err := func() error {
		for loading := loaded; ; {
			select {
			case err := <-served:
				served <- err
				return err
			case err := <-adminEnded: // requests are answered without
				ended <- err
				adminEnded = nil
				log.Error("the admin listener has ended; there are no metrics, no console and no admin API until the next start", "error", err)
			case err := <-loading:
				loading = nil
				missing := new(builtin.MissingError)
				switch {
				case err == nil:
					log.Info("ready", "parsers", len(sys.parsers.host.Parsers()))
				case ctx.Err() != nil: // and with it the loading has ended
				case errors.As(err, &missing):
					log.Error("no parsers: models with native calls work, and requests of those whose text is read are refused", "error", missing)
				default:
					return usageError{errors.Join(err, server.Close())}
				}
			case <-ctx.Done():
				<-reloading
				cfg := sys.now().config
				sys.drain()
				limit, end := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(cfg.ShutdownTimeout))
				defer end()
				err := shutdown(server, sys.sockets, delay(ctx, cfg), time.Duration(cfg.ShutdownTimeout), log)
				sys.state.Drain(limit)
				return err
			}
		}
	}()
	stopSharing() // after the last request
	stopKeys()
	_ = admin.Close() // a scrape that is cut is repeated
	cancel()
	_, _, _, _ = <-watched, <-served, <-ended, <-reloading
	return errors.Join(err, sys.close(context.WithoutCancel(ctx)))
}

// delay is how long requests are still taken after the end of ctx.
func delay(ctx context.Context, cfg *config.Config) time.Duration {
	if !errors.Is(context.Cause(ctx), errTerminated) {
		return 0
	}
	return time.Duration(min(cfg.ShutdownDelay, cfg.ShutdownTimeout))
}

// shutdown takes requests for as long as delay, while /readyz says that it ends, and lets those
// that run finish. What runs when limit is over, counted from now, is cut.
func shutdown(server *http.Server, sockets *socket.Sockets, delay, limit time.Duration, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	log.Info("shutting down", "delay", delay, "timeout", limit)
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	}
	left := make(chan error, 1)
	go func() { left <- sockets.Shutdown(ctx) }()
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, server.Close()) // handshakes too, for which sockets waits
	}
	if err = errors.Join(err, <-left); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("requests still ran after %v (shutdown_timeout)", limit)
	}
	return err
}

// configuration reads the file, or finds providers in the environment, and puts
// what the flags say on top.
func (s *serveCmd) configuration() (*config.Config, error) {
	cfg, err := loadConfig(s.Config, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if s.Config != "" {
		cfg.AddDemo()
	}
	if s.Listen != "" {
		cfg.Listen = s.Listen
	}
	if s.Admin != "" {
		cfg.Admin.Listen = s.Admin
	}
	if s.LogFormat != "" {
		cfg.Log.Format = s.LogFormat
	}
	if s.LogLevel != "" {
		cfg.Log.Level = s.LogLevel
	}
	if s.Reload != "" {
		cfg.Reload = s.Reload
	}
	if err := s.alone(); err != nil {
		return nil, err
	}
	if s.Upstream != "" {
		cfg.AddUpstream("upstream", config.Upstream{URL: s.Upstream, Parser: s.Parser, Tools: s.Tools, RawTextOf: s.RawToolText})
	}
	if err := cfg.Validate(); err != nil {
		return cfg, s.inFlags(err)
	}
	return cfg, s.inFlags(cfg.CheckCircle())
}

// alone refuses flags that say how --upstream is, where there is none.
func (s *serveCmd) alone() error {
	if s.Upstream != "" {
		return nil
	}
	for _, flag := range []struct{ name, env, value, fallback string }{
		{"--parser", "CALLGATE_PARSER", s.Parser, config.Auto},
		{"--tools", "CALLGATE_TOOLS", s.Tools, config.Auto},
		{"--raw-tool-text", "CALLGATE_RAW_TOOL_TEXT", s.RawToolText, ""},
	} {
		if flag.value != flag.fallback {
			return fmt.Errorf("%s (%s) is %q, and says how --upstream is, which is missing: add --upstream URL, or leave it out; in a file it is a key of the target",
				flag.name, flag.env, flag.value)
		}
	}
	return nil
}

// inFlagWords has a message name flags, which names the keys of a file that they stand for.
var inFlagWords = strings.NewReplacer("tools: prompted (providers.upstream.tools)", "--tools prompted", "parser: hermes", "--parser hermes")

// flagOf is the flag that a value came from; "" if it came from none.
func (s *serveCmd) flagOf(path string) string {
	switch {
	case path == "listen" && s.Listen != "":
		return "--listen (CALLGATE_LISTEN)"
	case path == "admin.listen" && s.Admin != "":
		return "--admin (CALLGATE_ADMIN)"
	case s.Upstream == "":
		return ""
	}
	return map[string]string{"providers.upstream.base_url": "--upstream", "providers.upstream.parser": "--parser", "providers.upstream.tools": "--tools",
		"providers.upstream.raw_tool_text": "--raw-tool-text", "providers.upstream.server": "--raw-tool-text"}[path]
}

// inFlags names the flag where a problem is of what --upstream and its like have made.
func (s *serveCmd) inFlags(err error) error {
	var problems *config.Error
	if !errors.As(err, &problems) {
		return err
	}
	for _, p := range problems.Problems {
		if flag := s.flagOf(p.Path); flag != "" {
			return fmt.Errorf("%s: %s", flag, inFlagWords.Replace(p.Message))
		}
	}
	return err
}

// greet says where the gateway is and how to try it.
func greet(e *env, l listeners, cfg *config.Config) {
	addr, elsewhere := reachedAt(l.api.Addr().String())
	fmt.Fprintf(e.stdout, "callgate listens on http://%s (set your app's base URL to http://%s/v1%s)\n", addr, addr, elsewhere)
	if l.admin != nil {
		admin, _ := reachedAt(l.admin.Addr().String())
		fmt.Fprintf(e.stdout, "metrics and circuit breakers: http://%s/metrics, http://%[1]s/admin/breakers\n", admin)
		fmt.Fprintf(e.stdout, "the operator's page and a playground for parsers, in a browser: http://%s/ui\n", admin)
	}
	if cfg.Providers["demo"].Type != "demo" || len(cfg.Keys) > 0 || cfg.RequireKeys {
		return
	}
	fmt.Fprintf(e.stdout, `
Try it: the demo model "hermes" writes its tool call as text, and you get a real one.

  curl -s http://%s/v1/chat/completions -H 'content-type: application/json' -d '%s'

Add "stream": true to see it streamed.
`, addr, tryBody)
	if len(cfg.Providers) == 1 {
		fmt.Fprintln(e.stdout, "The demo is the only provider: for others set a vendor's key (OPENAI_API_KEY, ANTHROPIC_API_KEY …), --upstream URL or -c FILE.")
	}
}

// reachedAt is where this machine reaches a listener, and what to say of others: who listens on all
// addresses is asked at none of that name.
func reachedAt(listener string) (addr, elsewhere string) {
	at, err := netip.ParseAddrPort(listener)
	if err != nil || !at.Addr().IsUnspecified() {
		return listener, ""
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String(), "; on other machines with the name of this one"
}

// tryBody is the request that the greeting and the documents show.
const tryBody = `{"model": "demo/hermes",
    "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
    "tools": [{"type": "function", "function": {"name": "get_weather", "parameters":
      {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}`
