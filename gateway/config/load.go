package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// limits are the bounds on a file.
var limits = yamldoc.Limits{Bytes: 1 << 20, Depth: 32}

// Load reads the configuration file at path, with variables from the process's
// environment. The error is an [*Error] if the file could be read.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	// One byte more than the limit shows that there is more.
	data, err := io.ReadAll(io.LimitReader(f, int64(limits.Bytes)+1))
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
	root := yamldoc.Read(data, limits, &r.problems)
	if root != nil {
		d := &decoder{r: r, exp: newExpander(env)}
		d.value("", root, reflect.ValueOf(c).Elem(), field{name: "listen", example: "127.0.0.1:8080"})
	} else if err := r.err(); err != nil {
		return nil, err
	}
	if len(c.Providers) == 0 && len(c.Models) == 0 && !r.bad["providers"] && !r.bad["models"] {
		c.fromEnv(env)
	}
	c.addressOpenAI()
	sum := sha256.Sum256(data)
	c.src.listen, c.src.admin, c.src.digest = c.Listen, c.Admin.Listen, hex.EncodeToString(sum[:])
	c.check(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// addressOpenAI gives providers of type openai that have a key and no address OpenAI's own. An address
// that came from a variable which is empty was meant for another.
func (c *Config) addressOpenAI() {
	for name, p := range c.Providers {
		if p.Type == "openai" && p.BaseURL == "" && !p.APIKey.IsZero() && c.src.marks[path("providers").Key(name).Key("base_url")].origin == "" {
			p.BaseURL = officialOpenAI
			c.Providers[name] = p
		}
	}
}
