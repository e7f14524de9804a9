package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/gateway/store/postgres"
	"github.com/callgate/callgate/internal/netaddr"
)

const (
	askPatience = 10 * time.Second // for one provider, server or store
	someFiles   = 4096             // below it, open files may run out
	someSpace   = 1 << 30          // bytes of a disk, below which it may be full soon
	soon        = 14 * 24 * time.Hour
	someSalt    = 16 // bytes of a secret
)

// examination prints what is found of a configuration, a line each, and what to do about it.
type examination struct {
	out io.Writer
	cfg *config.Config
	env *env
	bad bool
}

// good says that something is as it should be.
func (x *examination) good(what, text string) { x.line("✓", what, text, "") }

// doubt says what works, and may not be meant.
func (x *examination) doubt(what, text, do string) { x.line("!", what, text, do) }

// wrong says what does not work; the exit status tells of it.
func (x *examination) wrong(what string, err error, do string) {
	x.bad = true
	x.line("✗", what, err.Error(), do)
}

func (x *examination) line(mark, what, text, do string) {
	fmt.Fprintf(x.out, "%s %-24s %s\n", mark, what, strings.Join(strings.Fields(text), " "))
	if do != "" {
		fmt.Fprintf(x.out, "  %-24s → %s\n", "", do)
	}
}

// configuration looks at everything that a configuration names.
func (d *doctorCmd) configuration(ctx context.Context, e *env) error {
	cfg, err := loadConfig(d.Config, os.LookupEnv)
	if err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		return usageError{err}
	}
	redis.LogTo(logger(e.stderr, config.Log{Level: "error", Format: "text"})) // it would say what is said here, on its own
	x := &examination{out: e.stdout, cfg: cfg, env: e}
	x.listeners()
	x.keys(time.Now())
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		x.provider(ctx, name, cfg.Providers[name])
	}
	x.redis(ctx)
	x.store(ctx)
	x.usage(ctx)
	x.toolServers(ctx, d.Config)
	x.signIn(ctx)
	x.traces(ctx)
	x.prices()
	if err := tryConfig(e, cfg); err != nil {
		x.wrong("configuration", err, "callgate check says the same; serve would not start, or not serve a model whose plugin is refused")
	} else if err := cfg.CheckCircle(); err != nil {
		x.wrong("configuration", err, "serve would not start, unless --listen names another address")
	}
	x.machine()
	if x.bad {
		return errFailed
	}
	return nil
}

// listeners looks at who can connect, and whether the addresses can be had.
func (x *examination) listeners() {
	admin := x.cfg.Admin.Listen
	for what, address := range map[string]string{"listen": x.cfg.Listen, "admin.listen": admin} {
		if address == config.Off {
			continue
		}
		var c net.ListenConfig
		if l, err := c.Listen(x.env.ctx, "tcp", address); err == nil {
			_ = l.Close()
		} else {
			x.doubt(what, "cannot listen on "+address+" now: "+lastOf(err), "if a running gateway has it, all is well; else choose another address")
		}
	}
	host, _, _ := net.SplitHostPort(admin)
	switch {
	case admin == config.Off:
		x.doubt("admin", "off: no metrics, no console, no reload by the API", "admin: {listen: 127.0.0.1:8081} has them")
	case netaddr.LoopbackListener(host) && x.cfg.Admin.KeyHash.IsZero():
		x.good("admin", admin+", for this machine alone: everybody who can log in here is an operator")
	case netaddr.LoopbackListener(host):
		x.good("admin", admin+", with a key")
	default:
		x.doubt("admin", admin+" can be reached by other machines, with a key over plain HTTP", "let only Prometheus and operators through (a firewall, a NetworkPolicy), or listen on 127.0.0.1")
	}
}

// lastOf is the innermost of an error: what the system said.
func lastOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// keys looks at who may ask, and until when.
func (x *examination) keys(now time.Time) {
	if len(x.cfg.Keys) == 0 {
		if x.cfg.RequireKeys {
			x.good("keys", "none here: keys are made at run time")
		} else {
			x.good("keys", "none: anybody who can connect to "+x.cfg.Listen+" may use it")
		}
	}
	usable := 0
	for _, k := range x.cfg.Keys {
		what, ends := "key "+k.Name, k.ExpiresAt()
		switch {
		case k.Blocked:
			x.doubt(what, "is blocked", "")
			continue
		case ends.IsZero():
		case !ends.After(now):
			x.doubt(what, "has expired on "+ends.Format(time.DateOnly), "make a new one with callgate key, or set another expires")
			continue
		case ends.Before(now.Add(soon)):
			x.doubt(what, "expires on "+ends.Format(time.DateOnly), "rotate it: the new hash in hash, the old one in previous")
		}
		usable++
		for _, old := range k.Previous {
			if !old.UntilAt().After(now) {
				x.doubt(what, "its previous hash has not been accepted since "+old.UntilAt().Format(time.DateOnly), "take it out of previous")
			}
		}
	}
	for _, u := range x.cfg.Unmet() {
		x.doubt(u.Where, u.What, "correct it, or add the model; what clients may ask for is in GET /v1/models")
	}
	switch {
	case usable > 0:
		x.good("keys", fmt.Sprintf("%d in use", usable))
	case len(x.cfg.Keys) > 0:
		x.wrong("keys", errors.New("none of them is valid now"), "add one: callgate key prints it with its hash")
	}
}

// redis writes and reads what gateways share.
func (x *examination) redis(ctx context.Context) {
	if x.cfg.Redis.URL.IsZero() {
		x.good("redis", "none: this gateway shares nothing with others")
		return
	}
	if n := len(x.cfg.CacheSalt.Reveal()); n < someSalt {
		x.doubt("cache_salt", fmt.Sprintf("has %d characters, and what is kept in Redis is as safe as it", n), "use 32 random ones: openssl rand -base64 32")
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	shared, err := newSharing(x.cfg)
	if err != nil {
		x.wrong("redis", err, "correct redis.url")
		return
	}
	defer func() { _ = shared.close() }()
	key, text := shared.redis.Key("doctor"), []byte("doctor")
	if err := shared.redis.Set(ctx, key, text, time.Minute); err != nil {
		x.wrong("redis", err, "start it, or correct redis.url: its user needs to write keys that begin with "+x.cfg.Redis.KeyPrefix+":")
		return
	}
	if got, _, err := shared.redis.GetUpTo(ctx, key, len(text)); err != nil || string(got) != string(text) {
		x.wrong("redis", errors.Join(errors.New("what was written cannot be read"), err), "its user needs to read keys that begin with "+x.cfg.Redis.KeyPrefix+":")
		return
	}
	x.good("redis", "can be written and read")
}

// store opens the store. It makes no file that was not there.
func (x *examination) store(ctx context.Context) {
	c := x.cfg.Store
	do := ""
	switch c.Kind {
	case "off":
		x.good("store", "off: clients cannot name earlier responses")
		return
	case "memory":
		x.good("store", "memory: lost when this gateway ends, and not shared")
		return
	case "sqlite":
		dir := filepath.Dir(c.Path)
		do = fmt.Sprintf("mkdir -p %s, with the gateway's user as its owner", dir)
		if err := there(dir); err != nil {
			x.wrong("store", fmt.Errorf("sqlite: %w", err), do)
			return
		}
		x.space("store", dir, uint64(max(0, min(int64(c.MaxBytes), someSpace))))
		if _, err := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) {
			x.good("store", "sqlite: "+c.Path+" is made at the start")
			return
		}
		do = "check whether it is the gateway's own file, and writable: ls -l " + c.Path
	case "postgres":
		do = "start it, or correct store.url: its user needs to make tables in that database"
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	kept, err := openStore(ctx, x.cfg, nil)
	if err == nil && kept != nil {
		err = kept.Close()
	}
	if err != nil {
		x.wrong("store", err, do)
		return
	}
	x.good("store", c.Kind+": can be opened")
}

// usage opens the ledger of usage where it is in a database, and looks at where rows wait for it.
func (x *examination) usage(ctx context.Context) {
	kind, file, url := x.cfg.UsageStore()
	switch kind {
	case config.Off:
		x.good("usage", "off: no ledger")
		return
	case "memory":
		x.good("usage", "memory: the latest rows, until this gateway ends")
		return
	case "sqlite":
		if err := there(filepath.Dir(file)); err != nil {
			x.wrong("usage", fmt.Errorf("sqlite: %w", err), fmt.Sprintf("mkdir -p %s, with the gateway's user as its owner", filepath.Dir(file)))
			return
		}
	case "postgres":
		ctx, cancel := context.WithTimeout(ctx, askPatience)
		defer cancel()
		ledger, err := postgres.OpenLedger(ctx, url.Reveal())
		if err == nil {
			err = ledger.Close()
		}
		if err != nil {
			x.wrong("usage", err, "start it, or correct the URL: its user needs to make tables in that database")
			return
		}
	}
	journal, err := journalFolder(x.cfg, kind, file)
	if err == nil && journal != "" {
		err = writable(journal)
	}
	if err != nil {
		x.wrong("usage", err, "set usage.journal to a folder that the gateway may write to and that outlives it, or to off")
		return
	}
	x.good("usage", kind+": can be opened")
}

// toolServers asks all tool servers for their tools.
func (x *examination) toolServers(ctx context.Context, file string) {
	c, err := newCatalogue(x.cfg, nil, logger(x.env.stderr, config.Log{Level: "error", Format: "text"}))
	if err != nil {
		x.wrong("tool servers", err, "")
		return
	}
	if c == nil {
		return
	}
	defer func() { _ = c.Close() }()
	c.Refresh(ctx)
	for _, s := range c.Status() {
		what := "tool server " + s.Name
		if !s.Up {
			do := "start it, or correct its url"
			if len(x.cfg.ToolServers[s.Name].Command) > 0 {
				do = "correct its command, env or directory"
			}
			x.wrong(what, errors.New(s.Why()), do+"; until then models are not offered its tools")
			continue
		}
		x.good(what, howMany(len(s.Tools), "tool"))
		for _, tool := range s.Tools {
			if tool.Quarantine != "" {
				x.doubt(what, tool.Name+" is left out: "+tool.Quarantine, "look at callgate tools diff -c "+file+", then callgate tools pin -c "+file)
			}
		}
		for _, m := range s.Missing {
			x.doubt(what, strings.TrimSpace(m.Tool+" "+m.Why), "take it out of tools:, or look at the server")
		}
	}
}

// signIn asks the provider that operators sign in at who it is.
func (x *examination) signIn(ctx context.Context) {
	issuer := x.cfg.Admin.OIDC.Issuer
	if issuer == "" {
		return
	}
	gate, err := newGate(x.cfg, []byte(rand.Text()))
	if err == nil {
		err = gate.Check(ctx)
	}
	if err != nil {
		x.wrong("admin.oidc", err, "start it, or correct admin.oidc.issuer; until then operators have the key alone")
		return
	}
	x.good("admin.oidc", issuer+" answers")
}

// traces looks whether the collector can be connected to. Without it requests are served all the same.
func (x *examination) traces(ctx context.Context) {
	endpoint := x.cfg.Tracing.Endpoint
	if endpoint == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	u, err := url.Parse(endpoint)
	if err == nil {
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		var c net.Conn
		if c, err = new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port)); err == nil {
			_ = c.Close()
		}
	}
	if err != nil {
		x.doubt("tracing", "no connection to "+u.Host+": "+lastOf(err), "start the collector, or correct tracing.endpoint; until then traces are lost")
		return
	}
	x.good("tracing", u.Host+" can be connected to")
}

// prices reads the file of prices.
func (x *examination) prices() {
	if x.cfg.Prices == "" {
		return
	}
	if _, err := readPrices(x.cfg); err != nil {
		x.wrong("prices", err, "correct the file, or leave prices out")
		return
	}
	x.good("prices", x.cfg.Prices)
}

// machine looks at what the machine gives: places to write to, room, open files.
func (x *examination) machine() {
	tmp := os.TempDir()
	if err := writable(tmp); err != nil {
		x.wrong("temporary files", err, "uploads are kept there while they are sent on: set TMPDIR to a folder that the gateway may write to")
	} else {
		x.space("temporary files", tmp, uint64(max(0, uploadBudget(x.cfg.Limits))))
	}
	dir, err := cacheDir(x.cfg.Plugins.CacheDir)
	if err == nil && dir != "" {
		err = writable(dir)
	}
	if err != nil {
		x.doubt("compiled parsers", "cannot be kept: "+err.Error(), "set XDG_CACHE_HOME to a folder that the gateway may write to; without one every start compiles them")
	}
	if n, known := openFiles(); known && n < someFiles {
		x.doubt("open files", fmt.Sprintf("%d at most, and a request has two", n), "raise it: LimitNOFILE=65536 in systemd, ulimit -n in a shell")
	} else if known {
		x.good("open files", fmt.Sprintf("%d at most", n))
	}
}

// space says that a disk is nearly full, or has less room than may be needed.
func (x *examination) space(what, dir string, need uint64) {
	free, known := freeBytes(dir)
	if need = max(need, someSpace); known && free < need {
		x.doubt(what, fmt.Sprintf("%s free in %s, where %s may be needed", config.Size(min(free, 1<<60)), dir, config.Size(min(need, 1<<60))), "make room, or lower the limit of what is kept there")
	}
}

// writable reports why a file cannot be made in a folder, or in the one above where that is to be
// made first; nil if it can.
func writable(dir string) error {
	above := dir
	for {
		if _, err := os.Stat(above); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(above) == above {
			break
		}
		above = filepath.Dir(above)
	}
	f, err := os.CreateTemp(above, ".callgate-doctor-*")
	if err != nil {
		return fmt.Errorf("cannot write in %s: %s", above, lastOf(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// there is writable for a folder that nobody makes.
func there(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s: %s", dir, lastOf(err))
	}
	return writable(dir)
}
