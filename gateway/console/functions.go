package console

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/glossary"
	"github.com/callgate/callgate/gateway/history"
)

// functions are what pages call. now is the clock.
func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"ago":      func(t time.Time) string { return ago(now().Sub(t)) },
		"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" },
		"seconds":  seconds,
		"brief":    brief,
		"short":    func(s string) string { return s[:min(len(s), 12)] },
		"hex":      func(sum string) string { return strings.TrimPrefix(sum, "sha256:") },
		"visible":  visible,
		"inline":   inline,
		"state":    mark,
		"join":     strings.Join,
		"add":      func(a, b int) int { return a + b },
		"selected": func(a, b string) bool { return a == b },
		"number":   counted,
		"large":    large,
		"plural":   plural[int],
		"percent":  percent,
		"amount":   amount,
		"since":    since,
		"uncleanTable": func(caption, note string, rows []requestRow) any {
			return map[string]any{"Caption": caption, "Note": note, "Rows": rows}
		},
		"repaired": glossary.Repair,
		"faulty":   glossary.Fault,
		"sign":     glossary.Signal,
		"says":     glossary.Warning,
		"bar":      func(part float64) template.HTML { return bar(uint64(min(max(part, 0), 1)*1000), 1000) },
		"of":       func(c history.Counts, name string) uint64 { return c[countsByName[name]] },
		"lowest":   func(l Level) string { return map[Level]string{Good: "good", Fair: "warn", Bad: "bad"}[l] },
	}
}

// countsByName are the counts that pages name.
var countsByName = map[string]history.Count{ //nolint:gochecknoglobals // a table
	"requests": history.Requests, "failed": history.Failed, "repaired": history.Repaired,
	"ghosts": history.Ghosts, "retried": history.Retried,
}

// counted is a count of any sort.
func counted(n any) string {
	switch n := n.(type) {
	case int:
		return grouped(n)
	case int64:
		return grouped(n)
	case uint64:
		return grouped(n)
	}
	return fmt.Sprint(n)
}

// link is an entry of the navigation.
type link struct{ Path, Name string }

// menu are the pages that there may be; a gateway's page shows those that it has.
var menu = []link{ //nolint:gochecknoglobals // a table
	{Path, "Overview"}, {requestsPath, "Requests"}, {upstreamsPath, "Upstreams"}, {keysPath, "Keys"}, {rolloutsPath, "Rollouts"}, {qualityPath, "Quality"},
	{toolsPath, "Tools"}, {pluginsPath, "Plugins"}, {cachesPath, "Caches"}, {playgroundPath, "Playground"},
}

// linked are the links of the menu to pages that are there.
func linked(routes map[string]map[string]handler) (out []link) {
	for _, l := range menu {
		if routes[l.Path] != nil {
			out = append(out, l)
		}
	}
	return out
}

// ago is how long something has been, in words.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// brief is a duration with three digits at most; nothing is a dash.
func brief(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", d.Seconds()*1e6)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	case d < 1000*time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return ago(d)
}

// visible is text in which nothing hides: characters that are not seen, or that turn the
// direction of what follows, are written as their numbers.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inline is visible text in one line.
func inline(s string) string {
	return strings.NewReplacer("\n", "⏎", "\t", "⇥").Replace(visible(s))
}

func hidden(r rune) bool {
	const zeroWidthJoiner = '\u200d' // part of emoji
	return r != '\n' && r != '\t' && r != zeroWidthJoiner && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

// badge is a state with a sign, so that the colour says nothing new.
type badge struct{ Class, Sign, Word string }

func mark(state any) badge {
	switch s := state.(type) {
	case breaker.State:
		return map[breaker.State]badge{
			breaker.Closed: {"good", "✓", "closed"}, breaker.HalfOpen: {"warn", "◐", "half-open"}, breaker.Open: {"bad", "✕", "open"},
		}[s]
	case State:
		word := visible(s.Word)
		return map[Level]badge{Good: {"good", "✓", word}, Fair: {"warn", "!", word}, Bad: {"bad", "✕", word}}[s.Level]
	}
	return badge{"", "", fmt.Sprint(state)}
}
