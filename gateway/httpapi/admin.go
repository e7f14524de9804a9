package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/gateway/rollout"
)

// AdminConfig is what an Admin is made of.
type AdminConfig struct {
	// KeyHash is the operator's key as "sha256:<hex>". Without one everyone who can
	// connect is let in, so the address must be on loopback then.
	KeyHash string
	// Breakers returns the state of all circuit breakers, in the order to show them in.
	Breakers func() []breaker.Snapshot
	// Reset closes the breaker with a name and says whether there is one.
	Reset func(name string) bool
	// Targets returns the state of all targets, in the order to show them in. Without it
	// there is no GET /admin/targets.
	Targets func() []gateway.TargetState
	// Caches returns what is believed to be in the caches of targets and what they have
	// saved, as it is written in JSON. Without it there is no GET /admin/prefix.
	Caches func() any
	// Plugins returns which plugins and parsers are loaded and how they do, as it is
	// written in JSON. Without it there is no GET /admin/plugins.
	Plugins func() any
	// ResetParser ends the quarantine of the parser of a name, and returns its state as it is
	// written in JSON; without one of that name it returns the names of all. Without it there
	// is no POST /admin/plugins/parsers/{name}/reset.
	ResetParser func(name string) (state any, names []string)
	// Tools returns how the servers are whose tools the gateway runs, as it is written in JSON.
	// Without it there is no GET /admin/tools.
	Tools func() any
	// Usage asks the ledger of usage. Without it there is no GET /admin/usage.
	Usage func(ctx context.Context, q billing.Query) (billing.Answer, error)
	// Rollouts returns how the arms of rollouts do, and SetArm stops an arm of one, "" for all but the
	// control, or lets it go on. It returns the rollout's state; if that is nil, what there is none of,
	// "rollout" or "arm", and the names that there are, or "control" for the arm that is never stopped.
	// Without them there is no /admin/rollouts.
	Rollouts func() []rollout.Snapshot
	SetArm   func(name, arm string, stop bool) (state *rollout.Snapshot, what string, names []string)
	// Keys are the keys and teams of clients. Without it there is no /admin/keys and no /admin/teams.
	Keys *keys.Book
	// Reload has the configuration read again. Without it there is no POST /admin/reload.
	Reload func() (Reloaded, error)
	// Quality returns how well targets call tools, as it is written in JSON. Without it there is no
	// GET /admin/quality.
	Quality func() any
	// Metrics answers GET /metrics. Without it there is no such path.
	Metrics http.Handler
	// Console answers /ui and all below. Without it there are no such paths.
	Console Console
	// SSO signs operators in for the console, beside the key, which it needs; nil for the key alone.
	SSO SSO
	// Log may be nil.
	Log *slog.Logger
}

// Admin serves what the operator needs, on a listener of its own: the paths of adminPaths, of which GET
// /livez alone is open to everyone. It is an http.Handler.
type Admin struct {
	echo   *echo.Echo
	access *access // for the operator's key
	page   *page   // nil: there is none
	log    *slog.Logger
}

// The operator's paths.
const (
	livezPath    = "/livez"
	metricsPath  = "/metrics"
	breakersPath = "/admin/breakers"
	prefixPath   = "/admin/prefix"
	pluginsPath  = "/admin/plugins"
	targetsPath  = "/admin/targets"
	toolsPath    = "/admin/tools"
	qualityPath  = "/admin/quality"
	parsersPath  = pluginsPath + "/parsers"
)

// adminPaths are what there is, for whoever asks for something else. Below /admin/keys and /admin/teams see
// keysAdmin.
const adminPaths = "GET " + breakersPath + ", POST " + breakersPath + "/{name}/reset, GET " + targetsPath + ", GET " + prefixPath +
	", GET " + toolsPath + ", GET " + qualityPath + ", GET " + rolloutsPath + ", GET " + usagePath + ", GET " + pluginsPath +
	", POST " + rolloutsPath + "/{name}/stop, POST " + rolloutsPath + "/{name}/resume" +
	", POST " + parsersPath + "/{name}/reset, POST " + reloadPath + ", " + keysPath + ", " + teamsPath + ", GET " + consolePath +
	", GET " + metricsPath + " and GET " + livezPath

// Bounds on what the admin listener takes, and for how long.
const (
	maxAdminBody   = 4 << 10 // where nothing reads a body; some clients send one
	maxAdminHeader = 16 << 10
	maxAdminRead   = 10 * time.Second
	maxAdminWrite  = 30 * time.Second // a scrape of all metrics, by a slow reader
	maxAdminIdle   = 120 * time.Second
)

// NewAdmin makes an admin server. A key whose hash is not in the form above, a missing one where
// operators sign in, or a missing function, gives an error.
func NewAdmin(cfg AdminConfig) (*Admin, error) {
	if cfg.Breakers == nil || cfg.Reset == nil {
		return nil, errors.New("an admin server needs Breakers and Reset")
	}
	if cfg.SSO != nil && cfg.KeyHash == "" {
		return nil, errors.New("an admin server where operators sign in needs a KeyHash: signing in guards the page alone")
	}
	book, err := adminKeys(cfg.KeyHash)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Admin{echo: echo.New(), access: &access{keys: book, protection: http.NewCrossOriginProtection()}, log: cfg.Log}
	if cfg.Console != nil {
		a.page = &page{cfg.Console, cfg.SSO, a.access, cfg.Log}
	}
	a.echo.HTTPErrorHandler = a.fail
	a.echo.IPExtractor = echo.ExtractIPDirect() // no header of a client's says who it is
	a.echo.Use(a.observe, recoverer(cfg.Log), a.guard)
	a.echo.GET(livezPath, livez)
	b := breakers{cfg.Breakers, cfg.Reset, cfg.Log}
	a.echo.GET(breakersPath, b.list)
	a.echo.POST(breakersPath+"/:name/reset", b.close)
	cfg.route(a.echo)
	if a.page != nil {
		a.page.route(a.echo)
	}
	return a, nil
}

// route adds the paths that there are functions for.
func (cfg *AdminConfig) route(to *echo.Echo) {
	if cfg.Targets != nil {
		to.GET(targetsPath, func(c echo.Context) error {
			return c.JSON(http.StatusOK, map[string][]gateway.TargetState{"targets": cfg.Targets()})
		})
	}
	for path, shown := range map[string]func() any{prefixPath: cfg.Caches, pluginsPath: cfg.Plugins, toolsPath: cfg.Tools, qualityPath: cfg.Quality} {
		if shown != nil {
			to.GET(path, func(c echo.Context) error { return c.JSON(http.StatusOK, shown()) })
		}
	}
	if cfg.Rollouts != nil && cfg.SetArm != nil {
		routeRollouts(to, cfg.Rollouts, cfg.SetArm)
	}
	if cfg.ResetParser != nil {
		to.POST(parsersPath+"/:name/reset", resetParser(cfg.ResetParser, cfg.Log))
	}
	if cfg.Keys != nil {
		keysAdmin{cfg.Keys, keys.NewManager(cfg.Keys), cfg.Log}.route(to)
	}
	if cfg.Usage != nil {
		to.GET(usagePath, usage(cfg.Usage))
	}
	if cfg.Reload != nil {
		to.POST(reloadPath, reload(cfg.Reload))
	}
	if cfg.Metrics != nil {
		to.GET(metricsPath, echo.WrapHandler(cfg.Metrics))
	}
}

// adminKeys is a book with the operator's key alone, or with none.
func adminKeys(hash string) (*keys.Book, error) {
	b := keys.NewBook(keys.Options{})
	if hash == "" {
		return b, nil
	}
	if !keys.IsHash(hash) {
		return nil, errors.New("the hash of the operator's key must be \"sha256:\" and 64 hex digits")
	}
	b.Configure([]keys.Key{{Name: "admin", Secrets: []keys.Secret{{Hash: hash}}}}, nil, true)
	return b, nil
}

// ServeHTTP implements http.Handler.
func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.echo.ServeHTTP(w, r) }

// HTTP returns the server that listens, with limits on all that it takes. It has to
// listen where the operator alone can connect, or have a key.
func (a *Admin) HTTP() *http.Server {
	return &http.Server{
		Handler:        a,
		ReadTimeout:    maxAdminRead,
		WriteTimeout:   maxAdminWrite,
		IdleTimeout:    maxAdminIdle,
		MaxHeaderBytes: maxAdminHeader,
		ErrorLog:       slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
}

// guard stands before every path but the one that is open, those that do not exist
// too: a way to write a path that nobody thought of leads to no handler, and who has
// no key cannot find out what there is. It sees the route that Echo has chosen, so it
// and Echo cannot read a path differently.
func (a *Admin) guard(next echo.HandlerFunc) echo.HandlerFunc {
	checked, console := a.access.sameSite(a.access.authenticate(limitBody(next))), a.page.guard(next)
	return func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
		c.Response().Header().Set(echo.HeaderXContentTypeOptions, "nosniff")
		if c.Path() == livezPath {
			return next(c)
		}
		if a.page.has(c) {
			return console(c)
		}
		return checked(c)
	}
}

// limitBody reads what body there is, so that one that is too long is refused, and keeps it for who
// wants it.
func limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, most := c.Request(), int64(maxAdminBody)
		if ofKeys(c.Path()) {
			most = maxKeysBody
		}
		body, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, r.Body, most))
		r.Body = io.NopCloser(bytes.NewReader(body))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			return &gateway.Error{Kind: gateway.TooLarge,
				Message: fmt.Sprintf("The body is larger than %d bytes, and this path takes no more.", most)}
		case err != nil:
			return &gateway.Error{Kind: gateway.Invalid, Message: "The body could not be read.", Err: err}
		}
		return next(c)
	}
}

// nameOf is the name in the path.
func nameOf(c echo.Context) (string, error) {
	name := c.Param("name")
	if c.Request().URL.RawPath == "" { // Echo has taken it from the decoded path
		return name, nil
	}
	decoded, err := url.PathUnescape(name)
	if err != nil {
		return "", &gateway.Error{Kind: gateway.Invalid, Param: "name", Message: "The name in the path is not valid percent-encoding.", Err: err}
	}
	return decoded, nil
}

// resetParser ends a parser's quarantine and answers with its state. See AdminConfig.ResetParser.
func resetParser(reset func(name string) (state any, names []string), log *slog.Logger) echo.HandlerFunc {
	return func(c echo.Context) error {
		name, err := nameOf(c)
		if err != nil {
			return err
		}
		state, names := reset(name)
		if state == nil {
			return notThere("parser", name, names, pluginsPath)
		}
		log.InfoContext(c.Request().Context(), "parser reset by the operator", "id", requestID(c), "parser", name)
		return c.JSON(http.StatusOK, state)
	}
}

// notThere says that there is nothing of a name, which ones may be meant, and what lists them.
func notThere(what, name string, names []string, lists string) error {
	message := fmt.Sprintf("There is no %s %.80q.", what, name)
	if near := gateway.Near(name, names); len(near) > 0 {
		message += " Did you mean \"" + strings.Join(near, `", "`) + "\"?"
	}
	param := "name"
	if what == "arm" { // the name is the rollout's
		param = what
	}
	return &gateway.Error{Kind: gateway.NotFound, Code: what + "_not_found", Param: param,
		Message: message + " GET " + lists + " lists them."}
}

// observe gives each request its id and writes one line to the log when it is done. Scrapers come every
// few seconds, so a GET that worked is logged at the level debug, unless it is for what a request said: who
// looked at that is to be known.
func (a *Admin) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		r, w := c.Request(), c.Response()
		o := &observed{Context: c, record: record{form: chat.Form, id: clientID(r.Header.Get(requestIDHeader))}}
		rec := &o.record
		c = o
		setRequestID(c)
		err := next(c)
		broken := err != nil && w.Committed
		if err != nil {
			a.fail(err, c)
		}
		level := slog.LevelInfo
		switch {
		case broken || w.Status >= http.StatusInternalServerError:
			level = slog.LevelWarn
		case w.Status < http.StatusBadRequest && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, contentPath):
			level = slog.LevelDebug
		}
		a.log.LogAttrs(r.Context(), level, "admin request", rec.attrs(nil, c, time.Since(began))...)
		if broken {
			panic(http.ErrAbortHandler) // cut off, so that nobody takes half an answer for a whole one
		}
		return nil
	}
}

// fail answers with an error in the API's form. Where the API would speak of its own
// paths and keys, it speaks of the operator's.
func (a *Admin) fail(err error, c echo.Context) {
	e := classify(err, c)
	switch {
	case c.Response().Committed:
		recordOf(c).err = e
		return
	case a.page.has(c):
		a.page.fail(e, c)
		return
	case e.Kind == gateway.NotFound && e.Code == "not_found":
		e = &gateway.Error{Kind: gateway.NotFound, Code: e.Code, Message: "Not found: this address serves " + adminPaths + "."}
		if strings.HasPrefix(c.Request().URL.Path, "/v1/") {
			e.Message = "Not found: this is the admin listener. Clients' requests go to the other one: listen, http://127.0.0.1:8080 by default."
		}
	case e.Kind == gateway.InvalidKey:
		e = &gateway.Error{Kind: gateway.InvalidKey,
			Message: "No valid key: send the operator's key as \"Authorization: Bearer …\". Clients' keys are not accepted here."}
	}
	fail(e, c)
}
