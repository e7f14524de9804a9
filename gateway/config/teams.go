package config

import (
	"net/netip"
	"time"

	"github.com/callgate/callgate/gateway/keys"
)

// Team is a group of keys. What it says applies to each of them, beside what the key says itself.
type Team struct {
	// Models are patterns of the models that its keys may ask for. Default: all. An empty list is none.
	Models []string `yaml:"models" omit:"true" eg:"[gpt-4o*, fast]" doc:"Models that its keys may ask for, by the names that clients use, with * for any text; an empty list is none. Default: all."`
	// Tools are patterns of the tools of ToolServers that its keys may use. Default: all. An empty
	// list is none.
	Tools []string `yaml:"tools" omit:"true" eg:"[github__search_*]" doc:"Tools of tool_servers that its keys may use, as server__tool with * for any text; an empty list is none. Default: all."`
	// MaxTokens is the most output tokens that a request may ask for, 1 to 10000000. Default: no limit.
	MaxTokens int `yaml:"max_tokens" omit:"true" eg:"4096" min:"1" max:"10000000" doc:"Most output tokens that a request may ask for, all its choices together. A request that says nothing gets this. Default: no limit."`
	// Limits are for all keys of the team together. Default: none.
	Limits []Limit `yaml:"limits" omit:"true" eg:"[{usd: 100, per: month}]" doc:"Limits of all keys of the team together. Default: none."`
	// Labels stand in rows of usage.
	Labels map[string]string `yaml:"labels" omit:"true" eg:"{cost_center: \"4711\"}" doc:"Texts that stand in rows of usage. Default: none."`
}

// PreviousKey is what a key was before it was rotated.
type PreviousKey struct {
	// Hash is as that of a [Key].
	Hash Secret `yaml:"hash" required:"true" eg:"${CALLGATE_OLD_KEY_HASH}" doc:"Hash of the key as it was before."`
	// Until is when it is not taken any more, as [Key.Expires] is written.
	Until string `yaml:"until" required:"true" eg:"2027-01-31" doc:"When it is not taken any more: a time as 2027-01-31T18:00:00Z, or a date, which is its first moment in UTC."`
}

// ExpiresAt is when the key ends; the zero time is never.
func (k Key) ExpiresAt() time.Time {
	if k.Expires == "" {
		return time.Time{}
	}
	t, _ := keys.ParseTime(k.Expires)
	return t
}

// UntilAt is when the key as it was before ends.
func (p PreviousKey) UntilAt() time.Time {
	t, _ := keys.ParseTime(p.Until)
	return t
}

// Proxies are the networks of TrustedProxies.
func (c *Config) Proxies() (out []netip.Prefix) {
	for _, text := range c.TrustedProxies {
		if network, problem := keys.ParseNetwork(text); problem == "" {
			out = append(out, network)
		}
	}
	return out
}

// checkTeams checks the teams, and what keys say beside their names and hashes.
func (c *Config) checkTeams(r *report) {
	if kind := c.Store.Kind; c.RequireKeys && len(c.Keys) == 0 && (kind == "memory" || kind == "off") {
		r.add("require_keys", "nobody could get in: there are no keys, and those that are made at run time need a store that lasts; add keys:, or store: {kind: sqlite, path: ./callgate.db}")
	}
	for i, text := range c.TrustedProxies {
		network, problem := keys.ParseNetwork(text)
		if problem == "" && network.Bits() == 0 {
			problem = "is everybody, and any client could name any address; list the addresses of your proxies"
		}
		if problem != "" {
			at := path("trusted_proxies").At(i)
			r.add(at, "%s %s", r.src.show(at, text), problem)
		}
	}
	for _, name := range sortedKeys(c.Teams) {
		p, t := path("teams").Key(name), c.Teams[name]
		if problem := keys.CheckName(name); problem != "" {
			r.addName(p, keys.Quote(name)+" "+problem)
		}
		scope := keys.Scope{Models: t.Models, Tools: t.Tools, Labels: t.Labels}
		addProblems(r, p, scope.Check())
	}
	for i := range c.Keys {
		c.checkKeyTeam(r, path("keys").At(i), &c.Keys[i])
	}
}

// checkKeyTeam checks what a key says beside its name and hash.
func (c *Config) checkKeyTeam(r *report, p path, k *Key) {
	if _, known := c.Teams[k.Team]; k.Team != "" && !known && !r.bad["teams"] {
		r.add(p.Key("team"), "there is no team %s%s", r.src.show(p.Key("team"), k.Team), r.suggest(p.Key("team"), k.Team, "teams", sortedKeys(c.Teams)))
	}
	key := keys.Key{Scope: keys.Scope{Models: k.Models, Labels: k.Labels}, CIDR: k.CIDR, Arms: k.Arms}
	addProblems(r, p, key.Check())
	if _, problem := keys.ParseTime(k.Expires); k.Expires != "" && problem != "" {
		r.add(p.Key("expires"), "%s", problem)
	}
	for n, old := range k.Previous {
		at := p.Key("previous").At(n)
		if _, problem := keys.ParseTime(old.Until); old.Until != "" && problem != "" {
			r.add(at.Key("until"), "%s", problem)
		}
	}
}

// addProblems adds what is wrong with the fields of what is at p.
func addProblems(r *report, p path, problems []keys.Problem) {
	for _, x := range problems {
		at := p.Key(x.Field)
		if x.Label != "" {
			at = at.Key(x.Label)
		}
		if x.Index >= 0 {
			at = at.At(x.Index)
		}
		r.add(at, "%s", x.Say(func(value string) string { return r.src.show(at, value) }))
	}
}
