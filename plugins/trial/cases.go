package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
)

// tryCases reads the golden cases of a parser, each in every way.
func (t *trial) tryCases(ctx context.Context, s *subject) error {
	check := Check{Name: "cases", Parser: s.Name, Tried: len(s.cases)}
	for i := range s.cases {
		c := &s.cases[i]
		ways := contract.Cuts(c.Input)
		check.Read += 1 + len(ways)
		events, failure := t.examine(ctx, s, input{c.Input, c.Options, c.Reason, true}, ways)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		got := contract.Format(events)
		switch {
		case failure != nil:
		case t.cfg.Update:
			if got == c.Events {
				break
			}
			if err := os.WriteFile(filepath.Join(s.dir, c.Name+contract.Extension), []byte(c.File(got)), 0o600); err != nil {
				return err
			}
			check.Written++
		case got != c.Events:
			failure = &Failure{Problem: difference(got, c.Events)}
		}
		if failure != nil {
			failure.Check, failure.Parser, failure.Case = check.Name, s.Name, c.Name
			t.fail(*failure)
		}
	}
	t.report.Checks = append(t.report.Checks, check)
	return nil
}

// probe reads the parser's own example, and what a model may write behind its triggers.
func (t *trial) probe(ctx context.Context, s *subject) {
	check := Check{Name: "probes", Parser: s.Name}
	for _, in := range s.seeds() {
		if ctx.Err() != nil || t.broken {
			return
		}
		ways := contract.Cuts(in.text)
		check.Tried, check.Read = check.Tried+1, check.Read+1+len(ways)
		events, failure := t.examine(ctx, s, in, ways)
		if failure == nil && in.text == s.Example && in.text != "" && in.reason == abi.Stop {
			failure = s.checkExample(events)
		}
		if failure != nil {
			failure.Check, failure.Parser, failure.Case = check.Name, s.Name, fmt.Sprintf("%.80q", in.text)
			t.fail(*failure)
		}
	}
	t.report.Checks = append(t.report.Checks, check)
}

// checkExample holds the example to what the manifest says with it.
func (s *subject) checkExample(events []abi.Event) *Failure {
	if !slices.ContainsFunc(slices.Concat(s.Triggers, s.Starts), func(b string) bool { return strings.HasPrefix(s.Example, b) }) {
		return &Failure{Problem: "no trigger or start of the manifest begins its example"}
	}
	if !slices.ContainsFunc(events, func(e abi.Event) bool { return e.Kind == abi.CallEnd }) {
		return &Failure{Problem: "the manifest's example gives no call: " + line(strings.Split(contract.Format(events), "\n"), 0)}
	}
	return nil
}

// bodies are what a model may write behind a trigger.
func bodies() []string {
	return []string{
		"", " text that is no call", `{"name": "get_weather", "arguments": {"city": "Oslo"}}`, "get_weather\n" + `{"city": "Oslo", "days": [1, 2.5, true, null,]`,
		"\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>", "[get_weather(city='Oslo')]", "\xff\x00\xc3", "é😀",
	}
}

// maxBegins is how many triggers and starts of a parser are tried.
const maxBegins = 4

// begins are literals that begin regions of the parser.
func (s *subject) begins() []string {
	begins := slices.Concat(s.Triggers, s.Starts)
	if len(begins) == 0 {
		begins = []string{""}
	}
	return begins[:min(len(begins), maxBegins)]
}

// seeds are texts that a parser may read.
func (s *subject) seeds() []input {
	var seeds []input
	add := func(reason abi.Reason, texts ...string) {
		for _, text := range texts {
			seeds = append(seeds, input{text, s.options, reason, text == s.Example})
		}
	}
	if s.Example != "" {
		half := s.Example[:len(s.Example)/2]
		add(abi.Stop, s.Example, half, s.Example+" and more")
		add(abi.Length, half)
	}
	for _, begin := range s.begins() {
		for _, body := range bodies() {
			add(abi.Stop, begin+body)
		}
		add(abi.Length, begin)
	}
	return seeds
}
