package config

import (
	"reflect"
	"strings"
)

// vendor is a provider that the environment may hold, by the variables that the
// vendor's own SDK reads. Provider and type have the vendor's name.
type vendor struct {
	name string
	// key is the variable of the API key; nothing else is needed but where urlNeeded.
	key string
	// url is the base URL, as a file would write it.
	url string
	// needsURL says that the vendor has no address for all, so that either variable
	// without the other is a mistake.
	needsURL bool
	// version and model are those of Azure's interface and of its deployment.
	version, model string
	// models are the names that lead here.
	models []string
}

// vendors in the order in which they get the models that no other has a name for.
var vendors = []vendor{
	{name: "openai", key: "OPENAI_API_KEY", url: "${OPENAI_BASE_URL:-" + officialOpenAI + "}"},
	{
		name: "azure", key: "AZURE_OPENAI_API_KEY", url: "${AZURE_OPENAI_ENDPOINT}", needsURL: true,
		version: "${OPENAI_API_VERSION}", model: "${AZURE_OPENAI_DEPLOYMENT}",
	},
	{name: "qwen", key: "DASHSCOPE_API_KEY", url: "${DASHSCOPE_BASE_URL}", models: []string{"qwen*"}},
	{name: "moonshot", key: "MOONSHOT_API_KEY", url: "${MOONSHOT_BASE_URL}", models: []string{"kimi-*", "moonshot-*"}},
	{name: "anthropic", key: "ANTHROPIC_API_KEY", url: "${ANTHROPIC_BASE_URL}", models: []string{"claude-*"}},
}

const officialOpenAI = "https://api.openai.com/v1"

// FromEnv returns what runs with no configuration file: the defaults, the provider "demo", whose
// models are called demo/…, and demo-… too, and a provider for every vendor whose key is set:
//
//   - "openai" for OPENAI_API_KEY, at OPENAI_BASE_URL or https://api.openai.com/v1;
//   - "azure" for AZURE_OPENAI_API_KEY with AZURE_OPENAI_ENDPOINT, and, if they are
//     set, OPENAI_API_VERSION and AZURE_OPENAI_DEPLOYMENT;
//   - "qwen" for DASHSCOPE_API_KEY, at DASHSCOPE_BASE_URL or the adapter's;
//   - "moonshot" for MOONSHOT_API_KEY, at MOONSHOT_BASE_URL or the adapter's;
//   - "anthropic" for ANTHROPIC_API_KEY, at ANTHROPIC_BASE_URL or the adapter's.
//
// Models called qwen*, kimi-*, moonshot-* and claude-*, and Azure's deployment, go to
// their vendors; all others to openai, else to azure, else to the only vendor there is. The result is
// not validated yet: an address may be wrong, or one of Azure's two variables missing.
func FromEnv(env func(string) (string, bool)) *Config {
	c := &Config{src: &source{file: "environment", marks: map[path]mark{}}}
	setDefaults(reflect.ValueOf(c).Elem())
	c.src.listen, c.src.admin = c.Listen, c.Admin.Listen
	c.fromEnv(env)
	return c
}

func (c *Config) fromEnv(env func(string) (string, bool)) {
	c.Providers = map[string]Provider{"demo": newProvider("demo")}
	c.addModel("demo-*", Target{Provider: "demo"}) // the Agents SDK takes demo/ for a prefix of its own
	// The model demo/custom writes a form of its own, as an example of one that
	// only a configuration describes.
	if len(c.Parsers) == 0 {
		custom := CustomParser{}
		setDefaults(reflect.ValueOf(&custom).Elem())
		custom.Start, custom.End, custom.Body = "<<call ", ">>", "name_json"
		c.Parsers = map[string]CustomParser{"demo_custom": custom}
	}
	e := environment{exp: newExpander(env), src: c.src}
	var found []Target
	for _, v := range vendors {
		p, model, ok := e.provider(v)
		if !ok {
			continue
		}
		c.Providers[v.name] = p
		found = append(found, Target{Provider: v.name, Model: model})
		for _, name := range v.models {
			c.addModel(name, Target{Provider: v.name})
		}
		if model != "" { // a deployment, by its own name too
			c.addModel(model, Target{Provider: v.name, Model: model})
		}
	}
	if len(found) == 1 || len(found) > 0 && (found[0].Provider == "openai" || found[0].Provider == "azure") {
		c.addModel("*", found[0])
	}
}

func (c *Config) addModel(name string, t Target) {
	if c.Models == nil {
		c.Models = map[string]Model{}
	}
	c.Models[name] = Model{Targets: []Target{t}}
}

// environment reads variables, and remembers what came from which.
type environment struct {
	exp *expander
	src *source
}

// provider makes a vendor's provider and gives the model that it serves; ok is false
// if the environment does not speak of the vendor.
func (e environment) provider(v vendor) (p Provider, model string, ok bool) {
	at := path("providers").Key(v.name)
	p = newProvider(v.name)
	keyVariable := "${" + v.key + "}"
	key := e.read(keyVariable)
	p.APIKey, p.BaseURL, p.APIVersion = NewSecret(key), e.read(v.url), e.read(v.version)
	if key == "" && (!v.needsURL || p.BaseURL == "") {
		return Provider{}, "", false
	}
	e.mark(at.Key("base_url"), v.url, p.BaseURL)
	e.mark(at.Key("api_version"), v.version, p.APIVersion)
	if key == "" {
		e.mark(at.Key("api_key"), keyVariable, "")
	}
	// The vendor itself refuses broken calls; what else stands at OPENAI_BASE_URL
	// gets the conversation as it is, as from a file.
	if v.name == "openai" && strings.TrimRight(p.BaseURL, "/") == officialOpenAI {
		p.History = "repair"
	}
	return p, e.read(v.model), true
}

// read expands what a file would write. What is not set, or too long, is empty.
func (e environment) read(text string) string {
	value, _, _ := e.exp.expand(text)
	return value
}

func (e environment) mark(p path, origin, value string) {
	if origin != "" {
		e.src.marks[p] = mark{origin: origin, value: value}
	}
}

func newProvider(typ string) Provider {
	p := Provider{}
	setDefaults(reflect.ValueOf(&p).Elem())
	p.Type = typ
	return p
}

// AddDemo adds the provider "demo" to a configuration that has none of that name, so that
// demo/hermes and the like can be tried beside other providers.
func (c *Config) AddDemo() {
	if _, there := c.Providers["demo"]; there {
		return
	}
	if c.Providers == nil {
		c.Providers = map[string]Provider{}
	}
	c.Providers["demo"] = newProvider("demo")
}

// Names reports whether the file has written a provider of that name itself.
func (c *Config) Names(provider string) bool {
	_, written := c.src.marks[path("providers").Key(provider)]
	return written
}

// Upstream is a server that needs no file.
type Upstream struct {
	URL, Parser string
	Tools       string // as in [Provider]
	RawTextOf   string // the server that is asked for the model's own text; "" for none
}

// AddUpstream adds a provider of type "openai" and makes it the target of every
// model that has no other. What the file says of the model "*" besides its targets
// stays. It is what the flag --upstream of callgate serve does.
// [Config.Validate] says whether the URL is good.
func (c *Config) AddUpstream(name string, u Upstream) {
	p := newProvider("openai")
	p.BaseURL, p.Parser, p.Tools = u.URL, Parsers{u.Parser}, u.Tools
	p.Server, p.RawToolText = u.RawTextOf, u.RawTextOf != ""
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
