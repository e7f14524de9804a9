package attempt

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/internal/toolway"
)

// Bounds of what is remembered of targets that refuse tools. Who starts a server anew, with its
// options for tools, has it asked natively again when the time is over.
const (
	maxDetours = 1024
	detourTime = time.Hour
)

// detours remember how targets that refuse tools are asked for calls.
type detours struct {
	known *lru.Cache[detourKey, detour]
	now   func() time.Time
}

// detourKey is a target, and whether a request leaves it to the model to call a tool: servers
// tell the two apart.
type detourKey struct {
	provider, model string
	auto            bool
}

type detour struct {
	toolway.Refusal
	until time.Time
}

func newDetours(now func() time.Time) *detours {
	known, _ := lru.New[detourKey, detour](maxDetours) // the size is good
	return &detours{known: known, now: now}
}

// of is the way to ask a target that has refused before; the zero value if it has not.
func (d *detours) of(k detourKey) toolway.Refusal {
	way, ok := d.known.Get(k)
	if !ok || !d.now().Before(way.until) {
		return toolway.Refusal{}
	}
	return way.Refusal
}

// all are those that are remembered, by target. That of a model which the configuration does not
// name is its provider's.
func (d *detours) all(named func(targetKey) bool) map[targetKey]string {
	out := map[targetKey]string{}
	for _, k := range d.known.Keys() {
		at := targetKey{k.provider, k.model}
		if !named(at) {
			at.model = ""
		}
		if way := d.of(k); way.Way != toolway.Native {
			out[at] = way.Way.String()
		}
	}
	return out
}

// learn notes that a target has answered: if this request has found the way to ask it, that is the
// one from now on.
func (d *detours) learn(c *candidate, base *gateway.Request) {
	if c.found {
		d.known.Add(detourKeyOf(c, base), detour{c.way, d.now().Add(detourTime)})
	}
}

// detourKeyOf is under what it is remembered how a target is asked for a request.
func detourKeyOf(c *candidate, base *gateway.Request) detourKey {
	return detourKey{c.Provider, c.model, base.Reading.Choice().IsAuto()}
}

// detouring is how a target that refuses tools is asked for calls.
type detouring struct {
	way   toolway.Refusal
	found bool // this request has found that out
}

// adapts reports whether a target that refuses tools may be asked for calls as text: somebody
// reads it then.
func adapts(t *gateway.Target) bool {
	return t.Adapts && t.Prompted == "" && t.Mode == gateway.Repair && !t.Parsers.None()
}

// detour has a target asked another way than natively, and says so in a warning, "" if it is
// asked natively.
func (c *candidate) detour(way toolway.Refusal) (warning string) {
	switch way.Way {
	case toolway.Raw:
		c.way, c.RawText, c.RawServer = way, true, way.Server
		return "tools_raw:" + c.Provider
	case toolway.Prompted:
		format := c.format()
		if format == "" {
			return ""
		}
		c.way, c.RawText, c.Prompted = way, false, format
		return "tools_prompted:" + c.Provider
	}
	return ""
}

// format is the one in which the model is shown tools: one that the target's parsers read, or "".
func (c *candidate) format() string {
	if c.Parsers.Auto {
		return toolway.Format(c.model)
	}
	for _, name := range c.Parsers.Names {
		if _, ok := prompted.Find(name); ok {
			return name
		}
	}
	return ""
}

// remembered has a target that has refused tools asked another way, and says so in a warning.
func (d *detours) remembered(c *candidate, base *gateway.Request) (warning string) {
	if !adapts(&c.Target) || !base.Reading.OffersTools() {
		return ""
	}
	return c.detour(d.of(detourKeyOf(c, base)))
}

// refused has a target that refuses tools asked another way, if there is one that was not tried.
func (c *candidate) refused(e *gateway.Error, base *gateway.Request) (warning string, again bool) {
	if !adapts(&c.Target) || !base.Reading.OffersTools() {
		return "", false
	}
	auto := base.Reading.Choice().IsAuto()
	way, refused := toolway.Refused(e.Refusal(), auto && c.way.Way != toolway.Raw)
	if !refused || e.Kind == gateway.RateLimited {
		return "", false
	}
	warning = c.detour(way)
	c.found = warning != ""
	return warning, c.found
}
