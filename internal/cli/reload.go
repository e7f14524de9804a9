package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/internal/plainfile"
)

// pollEvery is how often the content of the file is looked at. It is looked at, and no event is
// waited for, since a ConfigMap is a link that is swapped two directories above. A content counts
// when it is the same twice: who writes a file in place is given the time.
const pollEvery = 2 * time.Second

// askTime is how long POST /admin/reload waits for parsers that are still being loaded.
const askTime = 20 * time.Second

// maxChanges is how many changes the log and the answer name.
const maxChanges = 100

// reloads read the configuration again while the gateway runs.
type reloads struct {
	sys     *system
	read    func() (*config.Config, error) // nil: nobody reads it again, as in a check
	file    string                         // "": the configuration is the environment's
	leveled *slog.LevelVar
	ctx     context.Context //nolint:containedctx // follow's, for what the admin API asks for

	turn sync.Mutex // one at a time

	mu    sync.Mutex // guards what follows
	state metrics.Reloads
	tried fileSums // what was read last
}

func newReloads(sys *system, cfg *config.Config) *reloads {
	return &reloads{sys: sys, state: metrics.Reloads{SHA256: digestOf(cfg), Good: true, At: time.Now(), Outcomes: map[string]uint64{
		httpapi.Applied: 0, httpapi.Unchanged: 0, httpapi.Refused: 0}}}
}

// digestOf is that of the file, or of the configuration that the environment has made.
func digestOf(cfg *config.Config) string {
	if sum := cfg.Digest(); sum != "" {
		return sum
	}
	sum := sha256.Sum256(cfg.YAML())
	return hex.EncodeToString(sum[:])
}

// from says where the configuration comes from, before anything is served.
func (r *reloads) from(read func() (*config.Config, error), file string, level *slog.LevelVar) {
	r.read, r.file, r.leveled = read, file, level
	r.tried = r.content()
}

// level has the log say as much as a configuration wants.
func (r *reloads) level(c config.Log) {
	if r.leveled != nil {
		setLevel(r.leveled, c)
	}
}

// measured is what the metrics say.
func (r *reloads) measured() metrics.Reloads {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.state
	out.Outcomes, out.Draining = maps.Clone(out.Outcomes), r.sys.retired.number()
	return out
}

// follow reads the configuration again at a signal, and when the file's content has changed, until
// ctx ends. Then nobody reads it any more.
func (r *reloads) follow(ctx context.Context, hups <-chan os.Signal) {
	r.turn.Lock()
	r.ctx = ctx
	before := r.tried // from now on the admin API may have it read
	r.turn.Unlock()
	ticks := time.NewTicker(pollEvery)
	defer ticks.Stop()
	for {
		select {
		case <-hups:
			if r.mode() == "off" {
				r.sys.log.Warn("SIGHUP is ignored: reload is off; restart to change the configuration")
				continue
			}
			r.reload(ctx, "SIGHUP")
		case <-ticks.C:
			if r.mode() != "auto" || r.file == "" {
				continue
			}
			now := r.content()
			if now == before && !r.isTried(now) {
				r.reload(ctx, "file")
			}
			before = now
		case <-ctx.Done():
			r.turn.Lock()
			r.read = nil
			r.turn.Unlock()
			return
		}
	}
}

func (r *reloads) mode() string { return r.sys.now().config.Reload }

// fileSums stand for the bytes of the file, and of the files that the configuration in force names.
type fileSums struct{ own, named string }

func (r *reloads) content() fileSums {
	return fileSums{sumOf([]string{r.file}), filesOf(r.sys.now().config)}
}

func (r *reloads) isTried(c fileSums) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried == c
}

// filesOf stands for what is in the files that a configuration names.
func filesOf(cfg *config.Config) string { return sumOf(cfg.Files()) }

// maxSummed is how much is read of a file to see whether it has changed. What is longer is refused
// by whoever uses it.
const maxSummed = 8 << 20

func sumOf(files []string) string {
	all := sha256.New()
	for _, name := range files {
		one := sha256.New()
		f, _, err := plainfile.Open(name) // a named pipe would be waited for
		if err == nil {
			_, err = io.Copy(one, io.LimitReader(f, maxSummed))
			_ = f.Close()
		}
		fmt.Fprintf(all, "%q %x %t\n", name, one.Sum(nil), err == nil)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// asked reads the configuration for the admin API.
func (r *reloads) asked() (httpapi.Reloaded, error) {
	r.turn.Lock()
	ctx := r.ctx
	r.turn.Unlock()
	switch {
	case r.mode() == "off":
		return httpapi.Reloaded{}, &gateway.Error{Kind: gateway.Invalid, Code: "reload_off", Param: "reload",
			Message: "The configuration is read at the start only, since it says reload: off. Restart the gateway to change it."}
	case ctx == nil:
		return httpapi.Reloaded{}, &gateway.Error{Kind: gateway.Unavailable, Message: "This gateway does not read its configuration again."}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return r.reload(ctx, "admin"), nil
}

// reload reads the configuration and has it take the place of the one in force, or says what is
// wrong and changes nothing.
func (r *reloads) reload(ctx context.Context, why string) httpapi.Reloaded {
	r.turn.Lock()
	defer r.turn.Unlock()
	c := r.content()
	out, err := r.try(ctx)
	if err != nil {
		out.Outcome, out.Error = httpapi.Refused, err.Error()
	} else {
		c.named = r.sys.now().files // as it was read
	}
	r.mu.Lock()
	r.tried = c
	r.state.Good = err == nil
	r.state.Outcomes[out.Outcome]++
	if err == nil {
		r.state.SHA256, r.state.At, r.state.Restart = out.SHA256, time.Now(), len(out.Restart) > 0
	} else {
		out.SHA256 = r.state.SHA256
	}
	r.mu.Unlock()
	r.say(why, out)
	return out
}

// say writes what became of it to the log.
func (r *reloads) say(why string, out httpapi.Reloaded) {
	log := r.sys.log.With("cause", why, "sha256", out.SHA256)
	if len(out.Restart) > 0 {
		log = log.With("needs_restart", out.Restart)
	}
	switch {
	case out.Outcome == httpapi.Refused:
		log.Error("configuration refused; the one before stays in force", "error", out.Error)
	case len(out.Restart) > 0:
		log.Warn("configuration "+out.Outcome+"; some keys need a restart and keep their values until then", "changed", out.Changed)
	default:
		log.Info("configuration "+out.Outcome, "changed", out.Changed)
	}
}

// try is reload without its accounts.
func (r *reloads) try(ctx context.Context) (out httpapi.Reloaded, err error) {
	out = httpapi.Reloaded{Outcome: httpapi.Unchanged, Changed: []string{}, Restart: []string{}}
	if r.read == nil {
		return out, errors.New("the gateway is shutting down")
	}
	if r.file != "" { // a named pipe would be waited for, and with it the end of the gateway
		f, _, err := plainfile.Open(r.file)
		if err != nil {
			return out, fmt.Errorf("configuration: %w", err)
		}
		_ = f.Close()
	}
	cfg, err := r.read()
	if err != nil {
		return out, err
	}
	if cfg.Blank() { // that would be the demo, open to everybody
		return out, fmt.Errorf("%s is empty, and a gateway that serves does not become the demo by that; write {} if it shall", r.file)
	}
	out.SHA256 = digestOf(cfg)
	old := r.sys.now()
	for _, c := range old.config.Changes(cfg) {
		if c.Restart {
			out.Restart = append(out.Restart, c.String())
		} else {
			out.Changed = append(out.Changed, c.String())
		}
	}
	if len(out.Restart) > 0 {
		cfg.Hold(old.config)
		if err := cfg.Validate(); err != nil {
			return out, fmt.Errorf("%s can be changed by a restart only, and without that the rest is not good: %w", strings.Join(out.Restart, ", "), err)
		}
	}
	if len(out.Changed) == 0 && filesOf(cfg) == old.files {
		return out, nil
	}
	if err := checkConfig(cfg); err != nil {
		return out, err
	}
	v, err := r.build(ctx, cfg, old)
	if err != nil {
		return out, err
	}
	r.sys.swap(v)
	out.Outcome = httpapi.Applied
	out.Changed = atMost(out.Changed, maxChanges)
	return out, nil
}

// build makes an edition. What would end the process at its start must not end one that serves.
func (r *reloads) build(ctx context.Context, cfg *config.Config, old *edition) (v *edition, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the gateway cannot be made of this configuration, which is a fault of its own: %v", p)
			r.sys.log.Error("panic", "error", err, "stack", string(debug.Stack()))
		}
	}()
	return r.sys.build(ctx, cfg, old)
}

// atMost are the first of a list, and how many more there are.
func atMost(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], fmt.Sprintf("… and %d more", len(list)-n))
}
