package config

import (
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway/internal/route"
)

// Unmet is a name or pattern in the scope of a key or a team that stands for no model. It is no
// error: what the command line adds may meet it.
type Unmet struct {
	Where string // the path of the value, as in keys[0].models[0]
	What  string // what is wrong, with what was probably meant
}

// Unmet are the models of keys and teams that nobody can ask for.
func (c *Config) Unmet() (out []Unmet) {
	names := sortedKeys(c.Models)
	for _, provider := range sortedKeys(c.Providers) {
		names = append(names, provider+"/*")
	}
	known := []route.Glob{route.NewGlob("demo/*")} // serve adds the demo
	for _, name := range names {
		known = append(known, route.NewGlob(name))
	}
	r := newReport(c.src)
	look := func(p path, patterns []string) {
		for i, text := range patterns {
			pattern := route.NewGlob(text)
			if !slices.ContainsFunc(known, pattern.Meets) {
				at := p.At(i)
				out = append(out, Unmet{string(at), fmt.Sprintf("no model fits %s%s", c.src.show(at, text), r.suggest(at, text, "models", names))})
			}
		}
	}
	for i := range c.Keys {
		look(path("keys").At(i).Key("models"), c.Keys[i].Models)
	}
	for _, name := range sortedKeys(c.Teams) {
		look(path("teams").Key(name).Key("models"), c.Teams[name].Models)
	}
	return out
}
