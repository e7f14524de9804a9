package template

import (
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
)

// patterns are those that a matcher which tries one way after the other needs
// exponential or quadratic time for, and those that fill the limits.
var patterns = []string{
	`(a*)*b`, `(x+x+)+y`, `(a|aa)+$`, `(.*)(.*)(.*)(.*)z`, `((a{10}){10}){10}b`, `(?:a?){400}a{400}`, `[ax ]{1,700}y`,
	`(?:(?:a|b|x)*(?:a|x)*)*z`, `\s*<tool>`, `<.*?>>`, `a.*b|a`, `(?:\w+\s*)+:`, `(?<=a)a*?b`, `a+(?=.*z)`, `a(?!b)`,
	`\ba.*?\bz`, `(?i)(k|a*)*<`, `((((((((((a*)*)*)*)*)*)*)*)*)*)b`, `x(?=x|$)`, `.{0,700}?q`,
}

// hostile are texts that make such a matcher try every way.
func hostile() map[string]string {
	const n = 1 << 20
	return map[string]string{
		"a": strings.Repeat("a", n), "x": strings.Repeat("x", n), " ": strings.Repeat(" ", n),
		"<": strings.Repeat("<", n), "ax": strings.Repeat("ax <a>", n/6), "words": strings.Repeat("some words, and é ｜ ", n/22),
	}
}

// budgetFor is how many steps a text of n bytes may take: every character is read
// once and rescanTimes again, and costs each instruction at most three steps.
func budgetFor(n, insts int) int { return 3 * (insts + 1) * ((1+rescanTimes)*n + rescanFree) }

func (w *watch) cost() (steps, insts int) {
	for _, m := range w.machines {
		steps, insts = steps+m.steps, insts+len(m.prog.insts)
	}
	return steps, insts
}

// TestLinear counts the steps of opening, closing and tag patterns.
func TestLinear(t *testing.T) {
	t.Parallel()
	for _, pattern := range patterns {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			quoted := string(relaxed.AppendString(nil, []byte(pattern)))
			tm, err := load(`{"fields": {"content": {}, "thinking": {"open_pattern": ` + quoted + `, "close_pattern": ` + quoted +
				`}, "other": {"open": "<a", "close": ["x", "xx"]}}}`)
			if refused(t, err) {
				return
			}
			for name, text := range hostile() {
				if testing.Short() {
					text = text[:1<<14]
				}
				checkParser(t, tm, name, text)
			}
		})
	}
}

// refused reports whether a pattern is larger than one may be, which is the other way to
// keep its steps few.
func refused(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), "make it smaller") {
		t.Error(err)
	}
	return err != nil
}

func checkParser(t *testing.T, tm *template, name, text string) {
	t.Helper()
	p := newParser(tm, sdk.Options{})
	var out sdk.Out
	for rest := text; rest != ""; {
		n := min(len(rest), 4096)
		p.Feed([]byte(rest[:n]), &out)
		out.Take()
		if len(p.buf) > 64<<10 {
			t.Fatalf("%s: %d bytes wait", name, len(p.buf))
		}
		rest = rest[n:]
	}
	p.Finish(sdk.Stop, &out)
	checkSteps(t, p, name, text)
}

// checkSteps holds a parser that has read text to its budget.
func checkSteps(t *testing.T, p *parser, name, text string) {
	t.Helper()
	steps, insts := p.outside.cost()
	for _, w := range p.closes {
		s, i := w.cost()
		steps, insts = steps+s, insts+i
	}
	if limit := budgetFor(len(text), insts); steps > limit {
		t.Errorf("%s: %d steps, want at most %d", name, steps, limit)
	}
}

// TestLinearTags counts the steps of a pattern of xml-inline.
func TestLinearTags(t *testing.T) {
	t.Parallel()
	for _, pattern := range patterns {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			b := budget{maxPrograms, maxClasses}
			p, err := b.pattern("(?P<key>" + strings.ReplaceAll(strings.ReplaceAll(pattern, `(?<=a)`, ``), `(?i)`, ``) + ")")
			if refused(t, err) {
				return
			}
			for name, text := range hostile() {
				text = text[:1<<16]
				tags := newTags(p)
				for tags.next([]byte(text)) {
				}
				steps, insts := tags.watch.cost()
				if limit := budgetFor(len(text), insts); steps > limit {
					t.Errorf("%s: %d steps, want at most %d", name, steps, limit)
				}
			}
		})
	}
}

// TestGivingBackIsLinear reads a text whose every marker begins a call that has to
// be given back after a second look.
func TestGivingBackIsLinear(t *testing.T) {
	t.Parallel()
	tm, err := load(`{"fields": {"content": {}, "tool_calls": {"open": "<c>", "close": "</c>", "content": "json"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, unit := range []string{`<c>{"</c>`, `<c>"</c>`, `<c></c>`, `<c>{"name": "a"}</c>`, `<c>'</c>}`} {
		text := strings.Repeat(unit, (1<<18)/len(unit))
		p := newParser(tm, sdk.Options{})
		var out sdk.Out
		p.Feed([]byte(text), &out)
		p.Finish(sdk.Stop, &out)
		checkSteps(t, p, strconv.Itoa(i), text)
	}
}
