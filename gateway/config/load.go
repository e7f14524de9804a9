package config

import (
	"fmt"
	"io"
	"os"
	"reflect"
)

// Load reads the configuration file at path, with variables from the process's
// environment. The error is an [*Error] if the file could be read.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	// One byte more than the limit shows that there is more.
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data, os.LookupEnv)
}

// Parse reads a configuration: it decodes data, expands variables with env,
// fills in defaults and validates. An env of nil has no variables. The name is
// that of the file in errors. A file with neither providers nor models gets
// those of [FromEnv]. The error is an [*Error].
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	c := &Config{src: &source{file: name, marks: map[path]mark{}}}
	setDefaults(reflect.ValueOf(c).Elem())
	r := newReport(c.src)
	root := readTree(r, data)
	if root != nil {
		d := &decoder{r: r, exp: newExpander(env)}
		d.value("", root, reflect.ValueOf(c).Elem(), field{name: "listen", example: "127.0.0.1:8080"})
	} else if err := r.err(); err != nil {
		return nil, err
	}
	if len(c.Providers) == 0 && len(c.Models) == 0 && !r.bad["providers"] && !r.bad["models"] {
		c.fromEnv(env)
	}
	c.src.listen = c.Listen
	c.check(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// FromEnv returns what runs without a file: the defaults, the provider "demo", whose
// models are called demo/…, and, if OPENAI_API_KEY is set, the provider "openai" for
// all others, at OPENAI_BASE_URL or https://api.openai.com/v1. It is not
// validated yet: OPENAI_BASE_URL may be wrong.
func FromEnv(env func(string) (string, bool)) *Config {
	c := &Config{src: &source{file: "environment", marks: map[path]mark{}}}
	setDefaults(reflect.ValueOf(c).Elem())
	c.src.listen = c.Listen
	c.fromEnv(env)
	return c
}

func (c *Config) fromEnv(env func(string) (string, bool)) {
	const baseURL = "${OPENAI_BASE_URL:-https://api.openai.com/v1}"
	exp := newExpander(env)
	demo := newProvider("demo")
	c.Providers = map[string]Provider{"demo": demo}
	// The model demo/custom writes a form of its own, as an example of one that
	// only a configuration describes.
	if len(c.Parsers) == 0 {
		custom := CustomParser{}
		setDefaults(reflect.ValueOf(&custom).Elem())
		custom.Start, custom.End, custom.Body = "<<call ", ">>", "name_json"
		c.Parsers = map[string]CustomParser{"demo_custom": custom}
	}
	key, _, err := exp.expand("${OPENAI_API_KEY:-}")
	if err != nil || key == "" {
		return
	}
	openai := newProvider("openai")
	openai.APIKey = NewSecret(key)
	// The default makes that it cannot fail but by its length, which leaves the
	// URL empty and is reported as such.
	openai.BaseURL, _, _ = exp.expand(baseURL)
	c.src.marks["providers.openai.base_url"] = mark{origin: baseURL, value: openai.BaseURL}
	c.Providers["openai"] = openai
	c.Models = map[string]Model{"*": {Targets: []Target{{Provider: "openai"}}}}
}

func newProvider(typ string) Provider {
	p := Provider{}
	setDefaults(reflect.ValueOf(&p).Elem())
	p.Type = typ
	return p
}
