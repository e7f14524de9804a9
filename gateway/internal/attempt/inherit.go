package attempt

import (
	"reflect"

	"github.com/callgate/callgate/gateway"
)

// Begin has the engine told of its breakers' changes, in the place of the one before it.
func (e *Engine) Begin() {
	for _, u := range e.upstreams {
		u.changed.Store(&e.changed)
	}
}

// Has reports whether the provider of a name is this one.
func (e *Engine) Has(name string, p gateway.Provider) bool {
	u := e.upstreams[name]
	return u != nil && same(u.provider, p)
}

// same reports whether two providers are one value.
func same(a, b gateway.Provider) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// inherit takes over what another engine knows of the providers that it has too. Their breakers,
// retry budgets and loads are those of both from now on; what targets have refused is copied.
func (e *Engine) inherit(from *Engine) {
	stays := func(provider string) bool {
		u := e.upstreams[provider]
		return u != nil && from.Has(provider, u.provider)
	}
	for name := range e.upstreams {
		if stays(name) {
			e.upstreams[name] = from.upstreams[name]
		}
	}
	for at := range e.loads {
		if l := from.loads[at]; l != nil && stays(at.provider) {
			e.loads[at] = l
		}
	}
	for _, at := range from.pins.refused.Keys() {
		if until, known := from.pins.refused.Peek(at); known && stays(at.provider) {
			e.pins.refused.Add(at, until)
		}
	}
	for _, k := range from.detours.known.Keys() {
		if way, known := from.detours.known.Peek(k); known && stays(k.provider) {
			e.detours.known.Add(k, way)
		}
	}
}
