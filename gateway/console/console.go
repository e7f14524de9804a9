// Package console is the operator's page: whether anything is wrong, what was repaired, who
// misbehaves and what was saved; each request that was not clean; what breakers, targets, parsers
// and caches do; and a playground that shows how a text of a model is read. It is plain
// HTML that works without scripts, made on the server, and asks no other server for
// anything.
//
// Whoever mounts it has to let the operator alone in and to refuse what other web pages
// send: see httpapi.Admin.
package console

import (
	"embed"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/history"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/playground"
	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/gateway/rollout"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

// Options are what a Console shows.
type Options struct {
	// Breakers returns the state of all circuit breakers, in the order to show them in.
	Breakers func() []breaker.Snapshot
	// Reset closes the breaker with a name and says whether there is one.
	Reset func(name string) bool
	// ResetParser ends the quarantine of the parser with a name and says whether there is one.
	ResetParser func(name string) bool
	// Targets returns the state of all targets, in the order to show them in.
	Targets func() []gateway.TargetState
	// Caches returns what is believed to be in the caches of targets. Lists of objects in
	// its JSON become tables.
	Caches func() any
	// Plugins returns which plugins are loaded and refused.
	Plugins func() Plugins
	// Tools returns how the servers are whose tools the gateway runs.
	Tools func() []catalogue.Status
	// Rollouts returns how arms do, and SetArm stops one or lets it go on: the rollout's state then, nil
	// if there is no such arm. Both may be nil: there is no page of rollouts then.
	Rollouts func() []rollout.Snapshot
	SetArm   func(name, arm string, stop bool) (state *rollout.Snapshot, what string, names []string)
	// History is what the last week brought.
	History *history.History
	// Concerns returns what else is wrong, and Budgets how much of each is spent. Both may be nil.
	Concerns func() []Concern
	Budgets  func() []Budget
	// Quality returns how well targets call tools; nil for no page of that.
	Quality func() quality.Snapshot
	// Keys are the keys and teams of clients; nil for no page of them.
	Keys *keys.Book
	// Ready says why parsers cannot be used yet, or nil.
	Ready func() error
	// Source gives the parsers of the playground.
	Source  playground.Source
	Version string
	// Now is the clock; nil is that of the system.
	Now func() time.Time
	// Log may be nil.
	Log *slog.Logger
}

// Plugins are those that the gateway has, and the files that it would have them from.
type Plugins struct {
	Dir     string // "": no directory is looked at
	Files   []File
	Parsers []Parser // as they are asked
	Custom  []string // formats of the configuration
}

// File is a plugin in the directory.
type File struct {
	Name, SHA256 string
	State        State
	Since        time.Time
	Reason       string // why the state is not a good one
}

// Parser is a parser of a plugin.
type Parser struct {
	Name, Plugin, Version string
	Example               string // a call in its form, "" if it gives none
	Priority              int
	State                 State
	Opened, Failed        uint64        // regions that it read, and responses in which it failed
	P50, P90, P99         time.Duration // of the time that it works on a region
}

// State is a state in a word, and how good that is.
type State struct {
	Level Level
	Word  string
}

// Level is how good a state is.
type Level int

// The levels.
const (
	Good Level = iota
	Fair
	Bad
)

// Console is an http.Handler for /ui and all below.
type Console struct {
	*pages
	o      Options
	routes map[string]map[string]handler // by path and method
	below  map[string]map[string]handler // the same, for the pages of one request below a path
}

// handler answers a request. Its error becomes a page.
type handler func(w http.ResponseWriter, r *http.Request) error

// Path is where the console is; its other paths are below.
const Path = "/ui"

const (
	requestsPath   = Path + "/requests"
	contentPath    = Path + "/content" // httpapi lets operators alone in
	upstreamsPath  = Path + "/upstreams"
	keysPath       = Path + "/keys"
	rolloutsPath   = Path + "/rollouts"
	qualityPath    = Path + "/quality"
	pluginsPath    = Path + "/plugins"
	cachesPath     = Path + "/caches"
	toolsPath      = Path + "/tools"
	playgroundPath = Path + "/playground"
	resetPath      = Path + "/breakers/reset"
	parserPath     = Path + "/parsers/reset"
	armPath        = rolloutsPath + "/arm"
	stylePath      = Path + "/assets/console.css"
	scriptPath     = Path + "/assets/console.js"
)

//go:embed pages assets
var files embed.FS

// complete reports whether all is there that every page needs.
func (o *Options) complete() bool {
	functions := o.Breakers != nil && o.Reset != nil && o.ResetParser != nil && o.Targets != nil && o.Caches != nil && o.Plugins != nil && o.Tools != nil && o.Ready != nil
	return functions && o.Source != nil && o.History != nil
}

// New makes a console. History, Source and every function of the options have to be there but those
// that may be nil.
func New(o Options) (*Console, error) {
	if !o.complete() {
		return nil, errors.New("a console needs all functions of its options")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	written := newPages(&o)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Console{pages: written, o: o}
	get := func(h handler) map[string]handler { return map[string]handler{http.MethodGet: h, http.MethodHead: h} }
	play := &player{bench: playground.New(o.Source), plugins: o.Plugins, ready: o.Ready, busy: make(chan struct{}, 1), pages: written}
	c.routes = map[string]map[string]handler{
		Path: get(c.story), requestsPath: get(c.requests), upstreamsPath: get(c.upstreams), pluginsPath: get(c.plugins), cachesPath: get(c.caches), toolsPath: get(c.tools), playgroundPath: get(play.blank),
		stylePath: get(asset("assets/console.css", "text/css")), scriptPath: get(asset("assets/console.js", "text/javascript")),
		resetPath: {http.MethodPost: c.reset}, parserPath: {http.MethodPost: c.resetParser},
	}
	c.below = map[string]map[string]handler{requestsPath: get(c.request), contentPath: get(c.content)}
	c.routes[playgroundPath][http.MethodPost] = play.read
	if o.Keys != nil {
		maps.Copy(c.routes, (&keysPage{o.Keys, keys.NewManager(o.Keys), o.Now, o.Log, written}).routes())
	}
	if o.Quality != nil {
		c.routes[qualityPath] = get(c.quality)
	}
	if o.Rollouts != nil && o.SetArm != nil {
		arms := &rolloutsPage{o.Rollouts, o.SetArm, written}
		c.routes[rolloutsPath], c.routes[armPath] = get(arms.list), map[string]handler{http.MethodPost: arms.set}
	}
	written.menu = linked(c.routes)
	return c, nil
}

// policy lets the page load its own style and script, and nothing else. What a model wrote
// is never HTML; if it were, it could do nothing.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// protect sets the headers that every answer has, also that to who is not let in. With
// same-origin as the policy of referrers browsers send the origin of forms, which the
// check of where they come from needs where there is no TLS.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Bounds on bodies. Percent-encoding makes three bytes of one.
const (
	maxBody     = 4 << 10
	maxTextBody = 3*(playground.MaxText+playground.MaxTools) + maxBody
)

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	path := r.URL.Path
	if path == Path+"/" {
		path = Path
	}
	methods, ok := c.routes[path]
	for below, methodsBelow := range c.below {
		if strings.HasPrefix(path, below+"/") {
			methods, ok = methodsBelow, true
		}
	}
	if !ok {
		c.Refuse(w, r, http.StatusNotFound, "Not found: there is no such page.")
		return
	}
	serve, ok := methods[r.Method]
	if !ok {
		w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
		c.Refuse(w, r, http.StatusMethodNotAllowed, "This page does not support this HTTP method.")
		return
	}
	limit := int64(maxBody)
	if path == playgroundPath {
		limit = maxTextBody
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if err := serve(w, r); err != nil {
		c.fail(w, r, err)
	}
}

// parseForm reads the form of a request.
func parseForm(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return &refusal{http.StatusBadRequest, "The form could not be read."}
	}
	return nil
}

// formName is what a form is about: the name of a key, a breaker or a parser.
func formName(r *http.Request) (string, error) {
	if err := parseForm(r); err != nil {
		return "", err
	}
	return r.PostForm.Get("name"), nil
}

// asset serves an embedded file.
func asset(name, kind string) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		b, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, _ = w.Write(b)
		return nil
	}
}
