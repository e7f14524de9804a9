package config

import (
	"slices"
	"strings"
)

// taken are the paths below /v1 that the gateway answers itself.
var taken = []string{"chat", "responses", "conversations", "messages", "models", "embeddings", "completions", "moderations", "rerank", "audio", "images"}

// checkPassthrough checks that paths lead to providers, and hide nothing.
func (c *Config) checkPassthrough(r *report) {
	for _, prefix := range sortedKeys(c.Passthrough) {
		p := path("").Key("passthrough").Key(prefix)
		rest, ok := strings.CutPrefix(prefix, "/v1/")
		first, _, _ := strings.Cut(rest, "/")
		switch name := c.Passthrough[prefix]; {
		case !ok || rest == "" || strings.HasSuffix(rest, "/") || strings.ContainsAny(rest, "*:%?#.") || strings.Contains(rest, "//"):
			r.add(p, "%q is not a path such as /v1/files", prefix)
		case slices.Contains(taken, first):
			r.add(p, "/v1/%s is answered by the gateway itself", first)
		case c.Providers[name].Type == "":
			r.add(p, "there is no provider %q", name)
		}
	}
}
