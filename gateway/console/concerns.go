package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/history"
)

// Concern is something that is wrong, or worth a look, in a sentence.
type Concern struct {
	Level Level // Bad: it is wrong. Fair: it is worth a look
	What  string
	// Link is the page that says more, and See what the link is called.
	Link, See string
}

// Budget is how much of a budget is spent.
type Budget struct {
	Name         string // of the key, team or model
	Spent, Limit float64
	Unit         string // a currency's code, or "tokens" or "requests"
	Period       string // such as "day"
	Link         string
}

// From these shares on a budget is worth a look, and spent.
const (
	budgetNear  = 0.8
	budgetSpent = 1
)

// Share is the part that is spent.
func (b Budget) Share() float64 {
	if b.Limit <= 0 {
		return 0
	}
	return max(b.Spent/b.Limit, 0)
}

// What is looked at for trouble of the moment, and from when on it is trouble.
const (
	lately      = 15 // minutes
	fewRequests = 20
	fewAttempts = 10
	enough      = 3
	maxConcerns = 12 // that are shown
	badShare    = 0.05
	fairShare   = 0.01
)

// adder adds a concern.
type adder func(level Level, link, see, format string, args ...any)

// concerns are what is wrong now, the worst first.
func (c *Console) concerns() []Concern {
	var out []Concern
	add := func(level Level, link, see, format string, args ...any) {
		out = append(out, Concern{level, fmt.Sprintf(format, args...), link, see})
	}
	if err := c.o.Ready(); err != nil {
		add(Bad, pluginsPath, "Plugins", "Parsers cannot be used yet: %s", err)
	}
	down := c.cutOff(add)
	recent, hour := c.o.History.Read(history.Last(lately)), c.o.History.Read(history.Hour)
	traffic(&recent, down, add)
	answersLately(&hour, add)
	c.toolsAway(add)
	c.unused(add)
	for _, b := range c.budgets() {
		switch share := b.Share(); {
		case share >= budgetSpent:
			add(Bad, b.Link, "Budget", "The budget of %s is spent.", b.Name)
		case share >= budgetNear:
			add(Fair, b.Link, "Budget", "%s of the budget of %s is spent.", percent(share), b.Name)
		}
	}
	if c.o.Concerns != nil {
		out = append(out, c.o.Concerns()...)
	}
	slices.SortStableFunc(out, func(a, b Concern) int { return cmp.Compare(b.Level, a.Level) })
	return out
}

// cutOff adds the breakers that are not closed, and returns their providers.
func (c *Console) cutOff(add adder) (down map[string]bool) {
	down = map[string]bool{}
	for _, b := range c.o.Breakers() {
		down[b.Name] = b.State != breaker.Closed
		switch b.State {
		case breaker.Open:
			add(Bad, upstreamsPath, "Upstreams", "%s has been cut off for %s: it failed %s in a row. %s", b.Name, ago(c.o.Now().Sub(b.Since)), times(b.ConsecutiveFailures), again(b))
		case breaker.HalfOpen:
			add(Fair, upstreamsPath, "Upstreams", "%s was cut off, and is being tried again.", b.Name)
		}
	}
	return down
}

// toolsAway adds servers of tools that are away, or not offered as they are configured.
func (c *Console) toolsAway(add adder) {
	for _, s := range c.o.Tools() {
		row := serverRow(s)
		switch {
		case !s.Up:
			add(Bad, toolsPath, "Tools", "The tool server %s is away.", s.Name)
		case row.Held > 0:
			add(Fair, toolsPath+"#held", "Tools", "%s of the server %s changed since they were pinned, and are in quarantine.", plural(row.Held, "tool"), s.Name)
		case len(s.Missing) > 0:
			add(Fair, toolsPath+"#missing", "Tools", "%s of the server %s cannot be offered.", plural(len(s.Missing), "tool"), s.Name)
		}
	}
}

// unused adds plugins and parsers that are not used as they are.
func (c *Console) unused(add adder) {
	plugins := c.o.Plugins()
	for _, f := range plugins.Files {
		if f.State.Level != Good {
			add(f.State.Level, pluginsPath, "Plugins", "The plugin file %s is %s%s.", f.Name, f.State.Word, because(f.Reason))
		}
	}
	for _, p := range plugins.Parsers {
		if p.State.Level != Good {
			add(p.State.Level, pluginsPath, "Plugins", "The parser %s is not used: %s.", p.Name, p.State.Word)
		}
	}
}

// budgets are those that somebody keeps, the nearest to their end first.
func (c *Console) budgets() []Budget {
	if c.o.Budgets == nil {
		return nil
	}
	list := slices.Clone(c.o.Budgets())
	slices.SortStableFunc(list, func(a, b Budget) int { return cmp.Compare(b.Share(), a.Share()) })
	return list
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(reason, ".")
}

// again says when a breaker lets a request through.
func again(b breaker.Snapshot) string {
	if b.ReopensIn <= 0 {
		return "The next request tries it."
	}
	return fmt.Sprintf("It is tried again in %s.", seconds(b.ReopensIn))
}

// traffic looks for failures of the moment. down are providers of which that is said already.
func traffic(r *history.Report, down map[string]bool, add adder) {
	failed, all := r.Total.Counts[history.Failed], r.Total.Counts[history.Requests]
	if level := howBad(failed, all, fewRequests); level != Good {
		add(level, requestsPath+"?show=failed", "Failed requests", "%s of %s failed in the last %d minutes (%s).", grouped(failed), plural(all, "request"), r.Window.Steps, percent(share(failed, all)))
	}
	for _, t := range r.Targets {
		failed, all := t.Counts[history.Failed], t.Counts[history.Requests]
		if level := howBad(failed, all, fewAttempts); level != Good && !down[t.Provider] {
			add(level, requestsPath+"?target="+targetQuery(t), "Its requests", "%s failed %s of %s in the last %d minutes.", targetName(t), grouped(failed), times(all), r.Window.Steps)
		}
	}
	for _, k := range append(slices.Clone(r.Of(history.Outcome)), r.Of(history.Failure)...) {
		switch k.Name {
		case "upstream_auth_error", "insufficient_quota", "memory_spent", "store_full", "plugin_error", "internal_error":
			words := fmt.Sprintf("%s %s in the last %d minutes.", failures[k.Name], capital(times(k.Count)), r.Window.Steps)
			if !slices.ContainsFunc(r.Of(history.Outcome), func(o history.Kind) bool { return o.Name == k.Name && o != k }) {
				add(Bad, requestsPath+"?show=failed", "Failed requests", "%s", words)
			}
		}
	}
}

// howBad says how bad it is that some of all failed.
func howBad(failed, all uint64, few uint64) Level {
	rate := share(failed, all)
	switch {
	case failed < enough: // anybody fails once
		return Good
	case all >= few && rate >= badShare, rate >= 0.5:
		return Bad
	case rate >= fairShare:
		return Fair
	}
	return Good
}

// answersLately looks for what could not be put right.
func answersLately(r *history.Report, add adder) {
	c := r.Total.Counts
	if n := c[history.Broken]; n > 0 {
		level := Fair
		if c[history.Requests] >= fewRequests && share(n, c[history.Requests]) >= badShare {
			level = Bad
		}
		add(level, requestsPath+"?show=broken", "See them", "%s of the last hour could not be repaired%s.", plural(n, "answer"), mostly(r, history.Broken))
	}
	if n := c[history.GhostsPassed]; n > 0 {
		add(Fair, requestsPath+"?show=ghost", "See them", "%s of the last hour claimed what no call had done, and reached clients all the same%s.", plural(n, "answer"), mostly(r, history.Ghosts))
	}
	for _, k := range r.Of(history.Warning) {
		if k.Name == "plugin" {
			add(Fair, pluginsPath, "Plugins", "A parser failed %s in the last hour; text was passed on unread.", times(k.Count))
		}
	}
}

// mostly names the target that most of a count is of, if there are several.
func mostly(r *history.Report, n history.Count) string {
	var worst *history.Target
	for i := range r.Targets {
		if t := &r.Targets[i]; t.Counts[n] > 0 && (worst == nil || t.Counts[n] > worst.Counts[n]) {
			worst = t
		}
	}
	if worst == nil || len(r.Targets) < 2 {
		return ""
	}
	return ", most often from " + targetName(*worst)
}
