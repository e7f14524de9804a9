package plugins

import (
	"context"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// The warm-up uses every parser of a module before the snapshot, so that what a
// guest sets up on first use, and the buffers that grow, are in it. Whatever the
// parsers make of the samples is of no interest.

// samples are what stands behind a trigger. A parser that reads one of the forms
// goes through most of its code.
func samples() []string {
	const words = "some <b>text</b>, [a] \\\"model\\\" {writes} it\\n"
	value := strings.Repeat(words, 4<<10/len(words))
	return []string{
		`{"name": "get_weather", "arguments": {"city": "` + value + `", "days": [1, 2.5, true, null]}}`,
		"<function=get_weather>\n<parameter=city>\n" + value + "\n</parameter>\n</function>",
	}
}

// warmUpBegins is how many triggers and starts of a parser are tried.
const warmUpBegins = 3

// warmUp calls the parsers. If one of them fails, the instance is dead.
func (m *module) warmUp(ctx context.Context, in *instance) {
	options := abi.AppendOptions(nil, abi.Options{
		Tools:    []abi.Tool{{Name: "get_weather", Params: []abi.Param{{Name: "city", Types: abi.String}}}},
		MaxDepth: m.limits.Depth,
	})
	for num := range m.manifest.Parsers {
		for _, text := range warmUpTexts(&m.manifest.Parsers[num]) {
			m.warmUpParser(ctx, in, num, options, []byte(text))
		}
	}
}

// warmUpTexts are texts that a parser may read: its own example, with a short and a
// long value, or something behind its triggers.
func warmUpTexts(p *abi.Parser) []string {
	if p.Example != "" {
		return []string{p.Example, strings.Replace(p.Example, "Oslo", strings.Repeat(`a \"word\" or two, `, 112), 1)}
	}
	begins := append(append([]string{}, p.Triggers...), p.Starts...)
	if len(begins) == 0 {
		begins = []string{""}
	}
	var texts []string
	for _, begin := range begins[:min(len(begins), warmUpBegins)] {
		for _, s := range samples() {
			texts = append(texts, begin+"\n"+s+"\n"+closing(begin))
		}
	}
	return texts
}

// closing is the end of a region that begins with a tag.
func closing(begin string) string {
	if len(begin) > 1 && (begin[0] == '<' || begin[0] == '[') {
		return begin[:1] + "/" + begin[1:]
	}
	return ""
}

func (m *module) warmUpParser(ctx context.Context, in *instance, num int, options, text []byte) {
	_, _ = in.canParse(ctx, num, text[:min(len(text), abi.MaxHead)])
	handle, err := in.open(ctx, num, options)
	if err != nil {
		return
	}
	b, _ := in.feed(ctx, handle, text)
	if countEvents(b) <= maxEvents {
		events, _ := abi.DecodeEvents(nil, b)
		ended := slices.ContainsFunc(events, func(e abi.Event) bool { return e.Kind == abi.End || e.Kind == abi.Malformed })
		if !ended {
			_, _ = in.finish(ctx, handle, abi.Stop)
		}
	}
	_ = in.closeHandle(ctx, handle)
}
