package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
)

// source is a region that is read as nothing but calls: the example, or a case.
type source struct {
	input

	events []abi.Event
}

// maxSources is how many sources of a parser are changed.
const maxSources = 4

// sources are the first ones that there are.
func (t *trial) sources(ctx context.Context, s *subject) (out []source) {
	texts := []input{{s.Example, s.options, abi.Stop, false}}
	for _, c := range s.cases {
		texts = append(texts, input{c.Input, c.Options, c.Reason, false})
	}
	for _, in := range texts {
		if len(out) == maxSources || len(in.text) > maxFuzzed || in.text == "" {
			continue
		}
		events, err := t.read(ctx, s.Name, in, []string{in.text})
		void := func(e abi.Event) bool { return e.Kind == abi.Malformed || e.Kind == abi.Cut }
		if err == nil && len(contract.Calls(events)) > 0 && !slices.ContainsFunc(events, void) {
			out = append(out, source{in, events})
		}
	}
	return out
}

// gap is a check of texts that are made of sources.
type gap struct {
	*trial

	subject *subject
	check   Check
}

// fail notes what is wrong with a text, and ends the trial.
func (g *gap) fail(f Failure) {
	f.Check, f.Parser, f.broken = g.check.Name, g.subject.Name, true
	g.trial.fail(f)
}

// over reports whether nothing more is to be tried.
func (g *gap) over(ctx context.Context) bool { return g.broken || ctx.Err() != nil }

// try reads a text whole and in some cuts.
func (g *gap) try(ctx context.Context, what string, in input, ways [][]string) ([]abi.Event, bool) {
	if g.over(ctx) {
		return nil, false
	}
	g.check.Tried, g.check.Read = g.check.Tried+1, g.check.Read+1+len(ways)
	events, failure := g.examine(ctx, g.subject, in, ways)
	if failure != nil && ctx.Err() == nil {
		failure.Case, failure.Input = what, in.text
		g.fail(*failure)
		return nil, false
	}
	return events, true
}

// tryArguments changes the arguments of calls: to some that come twice, and to values that are no
// JSON as they are.
func (t *trial) tryArguments(ctx context.Context, s *subject) {
	g := &gap{t, s, Check{Name: "arguments", Parser: s.Name}}
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // it has to be repeatable
	for _, src := range t.sources(ctx, s) {
		for _, call := range contract.Calls(src.events) {
			members := membersIn(call.Args, src.text)
			for _, text := range twice(src.text, members) {
				in := src.input
				in.text = text
				g.try(ctx, "an argument that comes twice", in, nil)
			}
			for _, text := range otherValues(src.text, members) {
				in := src.input
				in.text = text
				for _, tools := range [][]abi.Tool{src.options.Tools, nil} { // with types, and without
					in.options.Tools = tools
					g.try(ctx, "a value that is no JSON as it is", in, someCuts(text, random))
				}
			}
		}
	}
	t.report.Checks = append(t.report.Checks, g.check)
}

// member is an argument that stands in a text, its key before its value.
type member struct {
	key, value string
	from, to   int // of key and value in the text
	text       bool
}

// membersIn are the arguments of a call that stand in a text as they are.
func membersIn(args, text string) (out []member) {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		m := member{key: key, value: string(object[key]), from: strings.Index(text, key)}
		m.text = json.Unmarshal(object[key], &m.value) == nil
		if m.from < 0 || m.value == "" {
			continue
		}
		at := strings.Index(text[m.from+len(key):], m.value)
		if at < 0 {
			continue
		}
		m.to = m.from + len(key) + at + len(m.value)
		out = append(out, m)
	}
	return out
}

// maxAround is how many bytes of markup may stand around an argument.
const maxAround = 16

// twice are texts in which an argument may come twice: another one has its name, or what stands
// around it comes again, whatever the format's markup is.
func twice(text string, members []member) (out []string) {
	for i, m := range members {
		for _, other := range members[:i] {
			out = append(out, strings.ReplaceAll(text, m.key, other.key), strings.ReplaceAll(text, other.key, m.key))
		}
	}
	if len(members) == 0 {
		return out
	}
	m := members[0]
	for from := m.from; from >= max(0, m.from-maxAround); from-- {
		for to := m.to; to <= min(len(text), m.to+maxAround); to++ {
			for _, between := range []string{"", ", ", "\n"} {
				out = append(out, text[:to]+between+text[from:to]+text[to:])
			}
		}
	}
	return out
}

// otherValues are texts with other values in place of a string.
func otherValues(text string, members []member) (out []string) {
	i := slices.IndexFunc(members, func(m member) bool { return m.text })
	if i < 0 {
		return nil
	}
	m := members[i]
	for _, value := range []string{
		`say "hi"`, `"`, `\`, `C:\new\u12`, "two\nlines", "\r", "\t", "\x00", "\x1b[0m", "\x7f", "é😀", "\u2028", "\xff\xc3", "", " ", `'`, `''`, "{", `{"a": 1`, `[1, 2`, "]", "<", "</", "&amp;",
		"0", "-0", "01", "-01", "-", "+1", "1.", ".5", "1.5", "1e5", "1e", "1e+", "1e999", "0x1F", "1_000", "123456789012345678901234567890", "NaN", "Infinity", "-Infinity",
		"null", "nul", "None", "True", "tRue", "truer", "undefined",
	} {
		out = append(out, text[:m.to-len(m.value)]+value+text[m.to:])
	}
	return out
}

// sentinel is a text that no format has.
const sentinel = "Zq4711"

// tryText cuts calls off, and puts text behind them: nothing may be completed, and nothing lost.
func (t *trial) tryText(ctx context.Context, s *subject) {
	g := &gap{t, s, Check{Name: "text", Parser: s.Name}}
	sources := t.sources(ctx, s)
	for _, src := range sources[:min(len(sources), 1)] { // a case may be about what can be read in two ways
		whole := contract.Calls(src.events)
		for n := range src.text {
			for _, reason := range []abi.Reason{abi.Stop, abi.Length} {
				in := src.input
				in.text, in.reason = src.text[:n], reason
				events, ok := g.try(ctx, "a text that ends early", in, nil)
				if calls := contract.Calls(events); ok && n > 0 && !contract.BeginsCut(whole, calls) {
					g.fail(Failure{Case: "a text that ends early", Input: in.text, Problem: fmt.Sprintf(
						"it is read as %s, and all of the text as %s: complete nothing that the model did not write", callsOf(calls), callsOf(whole))})
				}
			}
		}
		if last := src.events[len(src.events)-1]; last.Kind != abi.End || last.To != len(src.text) {
			continue
		}
		for _, between := range []string{"", " ", "\n", "\n\n"} {
			for _, more := range []string{"", "\n" + src.text} {
				in := src.input
				in.text += between + sentinel + more
				events, ok := g.try(ctx, "text behind a call", in, nil)
				if ok && !strings.Contains(kept(events, in.text), sentinel) {
					g.fail(Failure{Case: "text behind a call", Input: in.text, Problem: fmt.Sprintf(
						"%q is lost: it is neither behind the region's end, nor given back, nor in content, reasoning or arguments", sentinel)})
				}
			}
		}
	}
	t.report.Checks = append(t.report.Checks, g.check)
}

// callsOf writes calls down.
func callsOf(calls []contract.Call) string {
	if len(calls) == 0 {
		return "no call"
	}
	var texts []string
	for _, c := range calls {
		texts = append(texts, c.Name+"("+c.Args+")")
	}
	return line([]string{strings.Join(texts, ", ")}, 0)
}

// kept is what is left of a text: what the events have of it, and what they leave to others.
func kept(events []abi.Event, text string) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case abi.End:
			b.WriteString(text[e.To:])
		case abi.Malformed:
			b.WriteString(text[e.From:])
		default:
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// tryRegions reads regions one after the other and side by side, as a response may have them: none
// may leave anything to another. Between two responses the sandbox sees to that.
func (t *trial) tryRegions(ctx context.Context, s *subject) {
	g := &gap{t, s, Check{Name: "regions", Parser: s.Name}}
	sources := t.sources(ctx, s)
	for i := range sources {
		a, b := &sources[i], &sources[(i+1)%len(sources)]
		for _, try := range []struct {
			what string
			run  func(*plugins.Session) string
		}{
			{fmt.Sprintf("%d regions in a row", manyRegions), func(session *plugins.Session) string {
				return g.row(ctx, session, slices.Repeat([]*source{a}, manyRegions)...)
			}},
			{"a region behind others", func(session *plugins.Session) string { return g.row(ctx, session, a, b, a) }},
			{"a region behind one that was left half read", func(session *plugins.Session) string {
				return g.behindLeft(ctx, session, a, b)
			}},
			{"two regions side by side", func(session *plugins.Session) string { return g.beside(ctx, session, a, b) }},
			{"a region whose tools take 100 KB", func(session *plugins.Session) string { return g.row(ctx, session, long(a), b) }},
		} {
			if g.over(ctx) {
				break
			}
			g.check.Tried++
			t.printed.reset()
			session := t.host.Session()
			problem := try.run(session)
			session.Close()
			if problem != "" && ctx.Err() == nil {
				g.fail(Failure{Case: try.what, Input: a.text, Problem: problem})
			}
		}
	}
	t.report.Checks = append(t.report.Checks, g.check)
}

// manyRegions are more than a plugin has handles.
const manyRegions = 40

// long is a source with very many tools in its options, whose names do not matter to it.
func long(s *source) *source {
	more := *s
	more.options.Tools = slices.Clone(s.options.Tools)
	for i := range 1000 {
		name := fmt.Sprintf("%s_%d_%s", sentinel, i, strings.Repeat("x", 80))
		more.options.Tools = append(more.options.Tools, abi.Tool{Name: name, Params: []abi.Param{{Name: "p", Types: abi.String}}})
	}
	return &more
}

// row reads regions one after the other.
func (g *gap) row(ctx context.Context, session *plugins.Session, sources ...*source) string {
	for i, src := range sources {
		run, err := session.Open(ctx, g.subject.Name, src.options)
		if err != nil {
			return fmt.Sprintf("region %d is not opened: %v", i+1, g.explain(err))
		}
		g.check.Read++
		events, err := g.finish(ctx, run, src, src.text)
		run.Close()
		if err != nil {
			return fmt.Sprintf("region %d: %v", i+1, g.explain(err))
		}
		if problem := same(events, src); problem != "" {
			return fmt.Sprintf("region %d gives other events than alone: %s", i+1, problem)
		}
	}
	return ""
}

// maxLeft is at how many places a region is left.
const maxLeft = 24

// behindLeft reads a region behind one that was fed a part of and closed, as the gateway does when
// a client goes away.
func (g *gap) behindLeft(ctx context.Context, session *plugins.Session, src, left *source) string {
	for n := 1; n < len(left.text); n += 1 + len(left.text)/maxLeft {
		run, err := session.Open(ctx, g.subject.Name, left.options)
		if err != nil {
			return fmt.Sprintf("the region is not opened: %v", g.explain(err))
		}
		_, err = run.Feed(ctx, []byte(left.text[:n]))
		run.Close()
		if err != nil {
			return g.explain(err).Error()
		}
		if problem := g.row(ctx, session, src); problem != "" {
			return fmt.Sprintf("behind %.200q: %s", left.text[:n], problem)
		}
	}
	return ""
}

// beside reads two regions in turns of a few bytes, and asks can_parse in between.
func (g *gap) beside(ctx context.Context, session *plugins.Session, a, b *source) string {
	sources, events, runs, rest := []*source{a, b}, make([][]abi.Event, 2), make([]*plugins.Run, 2), []string{a.text, b.text}
	for i, src := range sources {
		run, err := session.Open(ctx, g.subject.Name, src.options)
		if err != nil {
			return fmt.Sprintf("region %d is not opened: %v", i+1, g.explain(err))
		}
		defer run.Close()
		runs[i] = run
	}
	g.check.Read += 2
	for rest[0] != "" || rest[1] != "" {
		for i, run := range runs {
			n := min(5+i, len(rest[i]))
			got, err := run.Feed(ctx, []byte(rest[i][:n]))
			if err != nil {
				return fmt.Sprintf("region %d: %v", i+1, g.explain(err))
			}
			events[i], rest[i] = append(events[i], got...), rest[i][n:]
			if _, err := session.CanParse(ctx, g.subject.Name, []byte(sources[1-i].text)); err != nil {
				return g.explain(err).Error()
			}
		}
	}
	for i, run := range runs {
		got, err := g.finish(ctx, run, sources[i], "")
		if err != nil {
			return fmt.Sprintf("region %d: %v", i+1, g.explain(err))
		}
		if problem := same(contract.Join(append(events[i], got...)), sources[i]); problem != "" {
			return fmt.Sprintf("region %d gives other events than alone: %s", i+1, problem)
		}
	}
	return ""
}

// finish feeds text and ends the output, and returns the joined events.
func (g *gap) finish(ctx context.Context, run *plugins.Run, src *source, text string) ([]abi.Event, error) {
	fed, err := run.Feed(ctx, []byte(text))
	if err != nil {
		return nil, err
	}
	events := slices.Clone(fed)
	last, err := run.Finish(ctx, src.reason)
	return contract.Join(append(events, last...)), err
}

// same says how events differ from those of a source, or "".
func same(events []abi.Event, src *source) string {
	got, want := contract.Format(events), contract.Format(src.events)
	if got == want {
		return ""
	}
	return difference(got, want)
}
