package config

// AddUpstream adds a provider of type "openai" and makes it the target of every
// model that has no other. What the file says of the model "*" besides its targets
// stays. It is what the flag --upstream of callgate serve does.
// [Config.Validate] says whether the URL is good.
func (c *Config) AddUpstream(name, baseURL, parser string) {
	p := newProvider("openai")
	p.BaseURL, p.Parser = baseURL, Parsers{parser}
	if c.Providers == nil {
		c.Providers = map[string]Provider{}
	}
	if c.Models == nil {
		c.Models = map[string]Model{}
	}
	c.Providers[name] = p
	m := c.Models["*"]
	m.Targets, m.Alias = []Target{{Provider: name}}, ""
	c.Models["*"] = m
}

// ProviderTarget is the target for requests that name a provider and leave the
// model to them, as "provider/model" does: the provider's own defaults.
func (c *Config) ProviderTarget(provider string) Resolved {
	return c.resolve(Target{Provider: provider})
}
