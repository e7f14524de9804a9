package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

func (c *Config) checkModels(r *report) {
	providers, names := sortedKeys(c.Providers), c.modelNames()
	for _, name := range sortedKeys(c.Models) {
		p := path("models").Key(name)
		switch {
		case name == "" || strings.ContainsFunc(name, unicode.IsControl):
			r.addName(p, "the name of a model is empty or holds control characters")
		case strings.Contains(name, "**"):
			r.addName(p, "two * stand for no more than one; write one")
		}
		m := c.Models[name]
		if m.Alias != "" {
			names.checkAlias(r, name, m)
		}
		c.checkRules(r, p.Key("rules"), m.Rules)
		for list, targets := range m.lists(p) {
			c.checkTargets(r, list, targets, providers)
		}
	}
}

func (c *Config) checkTargets(r *report, p path, targets []Target, providers []string) {
	for i, t := range targets {
		at := p.At(i)
		checkTarget(r, at, t, providers)
		if pr, ok := c.Providers[t.Provider]; ok {
			checkRaw(r, at, t.RawToolText, pr)
			checkInvalidCall(r, at.Key("on_invalid_call"), t.OnInvalidCall, c.resolve(t).ToolCalls)
			checkDoubtfulCall(r, at.Key("doubtful_call"), t.DoubtfulCall, c.resolve(t).OnInvalidCall)
			checkInvalidOutput(r, at.Key("on_invalid_output"), t.OnInvalidOutput, cmp.Or(t.StructuredOutput, pr.StructuredOutput), c.resolve(t).ToolCalls)
		}
	}
}

func checkTarget(r *report, p path, t Target, providers []string) {
	checkParsers(r, p.Key("parser"), t.Parser)
	at := p.Key("provider")
	_, found := slices.BinarySearch(providers, t.Provider)
	if !found && t.Provider != "" && !r.bad["providers"] {
		r.add(at, "there is no provider %s%s%s", r.src.show(at, t.Provider), r.suggest(at, t.Provider, "providers", providers), addProvider(t.Provider, providers))
	}
}

// addProvider says what to write for a provider that is missing. The demo, which a gateway has with no
// configuration file, is among them.
func addProvider(name string, providers []string) string {
	switch {
	case name == "demo":
		return "; add it: providers: {demo: {type: demo}}"
	case len(providers) == 0:
		return "; add one: providers: {local: {type: openai, base_url: http://127.0.0.1:8000/v1}}"
	}
	return ""
}

// checkParsers checks the form of names; [Config.CheckParsers] checks that they
// exist.
func checkParsers(r *report, p path, names Parsers) {
	if names != nil && len(names) == 0 {
		r.add(p, "the list is empty; write none, auto or a name")
	}
	for i, name := range names {
		at := parserPath(p, names, i)
		switch {
		case !isParserName(name):
			r.add(at, "%s is not the name of a parser: only a-z, 0-9, _, . and -%s", r.src.show(at, name), lowerHint(r, at, name))
		case len(names) > 1 && (name == Auto || name == None):
			r.add(at, "%s stands alone, not in a list with names", r.src.show(at, name))
		case slices.Index(names, name) < i:
			r.add(at, "%s is in the list twice", r.src.show(at, name))
		}
	}
}

// parserPath leads to one name of a parser, which may stand without a list.
func parserPath(p path, names Parsers, i int) path {
	if len(names) == 1 {
		return p
	}
	return p.At(i)
}

// lowerHint says that a parser's name may be meant that is written with capitals.
func lowerHint(r *report, p path, name string) string {
	lower := strings.ToLower(name)
	if !isParserName(lower) || r.src.find(p).origin != "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", lower)
}

func isParserName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

func checkCustomParser(r *report, name string, f CustomParser) {
	p := path("parsers").Key(name)
	if !isParserName(name) || name == Auto || name == None {
		r.addName(p, "the name of a parser has only a-z, 0-9, _, . and -, and is not auto or none")
	}
	if f.ResponseTemplate != "" {
		checkTemplate(r, p, f)
		return
	}
	if f.Start == "" {
		r.add(p.Key("start"), "a value is required; write for example start: \"<<call \", or response_template: FILE")
	}
	if len(f.Start) == 1 {
		r.add(p.Key("start"), "one byte begins too much text that is not a call; use at least 2 bytes")
	}
	if f.NameKey == "" {
		r.add(p.Key("name_key"), "the key is empty; leave it out for %q", "name")
	}
	if f.ArgumentsKey == "" {
		r.add(p.Key("arguments_key"), "the key is empty; leave it out for %q", "arguments")
	}
	if f.NameKey == f.ArgumentsKey {
		r.add(p.Key("arguments_key"), "the key is the same as name_key")
	}
	for i, pattern := range f.Models {
		if pattern == "" {
			r.add(p.Key("models").At(i), `the pattern is empty; write for example "my-*"`)
		}
	}
}

// checkTemplate refuses what a response_template has no use for.
func checkTemplate(r *report, p path, f CustomParser) {
	for key, value := range map[string]string{"start": f.Start, "end": f.End, "separator": f.Separator} {
		if value != "" {
			r.add(p.Key(key), "response_template says that already; keep one of them")
		}
	}
}

// CheckParsers checks that every parser named by a provider or target is in
// known or among the configuration's own. Which there are is known only once
// plugins are loaded, hence the separate check. The error is an [*Error].
func (c *Config) CheckParsers(known []string) error {
	r := newReport(c.src)
	names := append(sortedKeys(c.Parsers), known...)
	slices.Sort(names)
	names = slices.Compact(names)
	c.visitTargets(func(p path, own Target) {
		for i, name := range own.Parser.Names() {
			if _, ok := slices.BinarySearch(names, name); ok {
				continue
			}
			at := parserPath(p.Key("parser"), own.Parser, i)
			r.add(at, "there is no parser %s%s%s", r.src.show(at, name), r.suggest(at, name, "parsers", names), c.ofPlugin(name, names))
		}
	})
	return r.err()
}

// ofPlugin says where a parser's file must be that is not like any of those that are there.
func (c *Config) ofPlugin(name string, known []string) string {
	if c.Plugins.Dir == "" || yamldoc.Nearest(name, known) != "" {
		return ""
	}
	return "; a plugin's file is looked for in " + yamldoc.Quote(c.Plugins.Dir) + " (plugins.dir), seen from where the gateway runs"
}
