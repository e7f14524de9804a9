package config

import "strings"

func checkPlugins(r *report, p Plugins) {
	const at = path("plugins")
	checkPluginLimits(r, p.Limits)
	for _, name := range sortedKeys(p.Pins) {
		here := at.Key("pins").Key(name)
		if strings.ContainsAny(name, `/\`) || !strings.HasSuffix(name, ".wasm") {
			r.add(here, "the name is not that of a file in plugins.dir; write it without a directory, for example my_model.wasm")
		}
		if !isHash(p.Pins[name]) {
			r.add(here, "the value is not the hash of a file: \"sha256:\" and 64 digits from 0-9 and a-f, as callgate plugin inspect prints them")
		}
	}
	if p.Require == "pin" && len(p.Pins) == 0 && p.Dir != "" {
		r.add(at.Key("require"), "no file could be loaded: there are no plugins.pins")
	}
	if (p.Require == "signature" || p.Require == "either" && len(p.Pins) == 0) && len(p.MinisignKeys) == 0 && p.Dir != "" {
		r.add(at.Key("require"), "no file could be loaded: there are no plugins.minisign_keys")
	}
}

// CheckPlugins checks keys of signers and references of plugins to pull, by what their
// packages say of each. The wiring, which alone knows those, calls it first. The error is
// an [*Error].
func (c *Config) CheckPlugins(key, reference func(text string) error) error {
	r := newReport(c.src)
	for i, text := range c.Plugins.MinisignKeys {
		if err := key(text); err != nil {
			r.add(path("plugins.minisign_keys").At(i), "the value %v", err)
		}
	}
	for i, text := range c.Plugins.Pull {
		if err := reference(text); err != nil {
			r.add(path("plugins.pull").At(i), "%v", err)
		}
	}
	return r.err()
}
