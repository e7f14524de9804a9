package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// jsonReport is a report as JSON; README.md says what the members are.
type jsonReport struct {
	Suite   string        `json:"suite"` // the version of this form
	Target  string        `json:"target"`
	Began   time.Time     `json:"began"`
	Seconds float64       `json:"seconds"`
	Level   Level         `json:"level"` // that ok is about
	OK      bool          `json:"ok"`
	Levels  []LevelTotals `json:"levels"`
	Totals  Totals        `json:"totals"`
	Areas   []AreaTotals  `json:"areas"`
	Skipped []Reason      `json:"skipped"`
	Notes   []string      `json:"notes"`
	Cases   []jsonCase    `json:"cases"`
}

type jsonCase struct {
	Case      string            `json:"case"`
	Area      string            `json:"area"`
	About     string            `json:"about"`
	Level     Level             `json:"level"`
	Rule      string            `json:"rule"`
	Sources   []string          `json:"sources,omitempty"`
	Why       string            `json:"why,omitempty"` // it is not of the level core
	Levels    map[Level]Verdict `json:"levels"`
	File      string            `json:"file"`
	Verdict   Verdict           `json:"verdict"`
	Reason    string            `json:"reason,omitempty"` // of what was skipped
	Seconds   float64           `json:"seconds"`
	Exchanges int               `json:"exchanges"`
	Failures  []jsonFailure     `json:"failures,omitempty"`
}

type jsonFailure struct {
	Exchange string  `json:"exchange"`
	Faults   []Fault `json:"faults"`
	Status   int     `json:"status"`
	Body     string  `json:"body"` // its beginning and its end
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	out := jsonReport{Suite: "callgate-conformance/2", Target: r.Target, Began: r.Began.UTC(), Seconds: r.Took.Seconds(),
		Level: r.level(), OK: r.OK(), Levels: r.Levels(), Totals: r.Totals(), Areas: r.Areas(), Skipped: r.Skipped(), Notes: r.Notes}
	for _, o := range r.Cases {
		c := jsonCase{Case: o.Case.Name, Area: o.Case.Area(), About: o.Case.About, Rule: o.Case.Rule, File: o.Case.File(),
			Level: o.Case.Level, Sources: o.Case.Citations(), Why: o.Case.Why, Levels: map[Level]Verdict{},
			Verdict: o.Verdict, Reason: o.Skipped, Seconds: o.Took.Seconds(), Exchanges: o.Exchanges}
		for _, l := range Levels() {
			if v := o.At(l); v != "" {
				c.Levels[l] = v
			}
		}
		for _, f := range o.Failures {
			c.Failures = append(c.Failures, jsonFailure{f.Exchange, f.Faults, f.Status, f.Excerpt()})
		}
		out.Cases = append(out.Cases, c)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// junit is a report in the form of JUnit, as CI systems read it: a suite for each area.
type junit struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	File    string     `xml:"file,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report in the form of JUnit. A known failure is skipped there.
func (r *Report) WriteJUnit(w io.Writer) error {
	t := r.Totals()
	out := junit{junitCounts: t.junit("conformance", r.Took)}
	for _, a := range r.Areas() { // of the run's level: a CI system knows no other
		var s junitSuite
		var took time.Duration
		for _, o := range r.Cases {
			if o.Case.Area() == a.Area && !o.Beyond {
				s.Cases = append(s.Cases, o.junit())
				took += o.Took
			}
		}
		s.junitCounts = a.junit(a.Area, took)
		out.Suites = append(out.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (t Totals) junit(name string, took time.Duration) junitCounts {
	return junitCounts{name, t.Ran() + t.Skipped, t.Failed + t.KnownPassed, t.Skipped + t.KnownFailed, seconds(took)}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func (o *Outcome) junit() junitCase {
	c := junitCase{Name: o.Case.Name, Class: "conformance." + o.Case.Area(), File: o.Case.File(), Time: seconds(o.Took)}
	switch o.Verdict {
	case Passed:
	case Skipped:
		c.Skipped = &junitText{Message: o.Skipped}
	case KnownFailed:
		c.Skipped = &junitText{Message: "known to fail", Text: o.Details()}
	case Failed, KnownPassed:
		c.Failure = &junitText{Message: o.BrokenRule(), Text: o.Details()}
	}
	return c
}

// Details say what is wrong with an unexpected outcome, on several lines: in which way
// the case was run, what came, and what was wanted.
func (o *Outcome) Details() string {
	if o.Verdict == KnownPassed {
		return "This case is on the list of known failures and passes: take it off.\n"
	}
	var b strings.Builder
	for i, f := range o.Failures {
		fmt.Fprintf(&b, "%s:\n", f.Exchange)
		for _, fault := range f.Faults {
			fmt.Fprintf(&b, "  %s\n", fault)
		}
		if i == 0 && f.Status != 0 {
			fmt.Fprintf(&b, "  the answer, status %d:\n%s\n", f.Status, indent(f.Excerpt()))
		}
	}
	return b.String()
}

// BrokenRule is the rule of the first level at which a case failed, with who demands it.
func (o *Outcome) BrokenRule() string {
	for _, l := range Levels() {
		for _, f := range o.Failures {
			if !faulty(f.Faults, l) {
				continue
			}
			rule := o.Case.RuleAt(l)
			if cited := o.Case.Citations(); l == Core && cited != nil {
				rule += " (" + strings.Join(cited, "; ") + ")"
			}
			return rule
		}
	}
	return o.Case.Rule
}

// indent puts text where it is told from what stands around it.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// Excerpt is the beginning and the end of the answer's body.
func (f *Failure) Excerpt() string {
	const half = 1500
	body := string(f.Body)
	if len(body) > 2*half {
		body = body[:half] + "\n…\n" + body[len(body)-half:]
	}
	return strings.ToValidUTF8(body, "\uFFFD")
}

// WriteMarkdown writes the report as Markdown: a table of areas, then what failed.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance of %s\n\n%s\n", r.Target, r.Summary())
	for _, l := range r.Levels() {
		fmt.Fprintf(&b, "\n## Level %s: %d of %d\n\n", l.Level, l.Passed+l.KnownPassed, l.Ran())
		fmt.Fprintf(&b, "| area | passed | failed | known failures | skipped | exchanges |\n|---|--:|--:|--:|--:|--:|\n")
		for _, a := range append(l.Areas, AreaTotals{"**all**", l.Totals}) {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", a.Area, a.Passed, a.Failed+a.KnownPassed, a.KnownFailed, a.Skipped, a.Exchanges)
		}
	}
	if reasons := r.Skipped(); len(reasons) > 0 {
		fmt.Fprint(&b, "\n## Skipped\n\n")
		for _, s := range reasons {
			fmt.Fprintf(&b, "- %d: %s\n", s.Cases, s.Reason)
		}
	}
	if failed := r.Unexpected(); len(failed) > 0 {
		fmt.Fprint(&b, "\n## Failed\n")
		for _, o := range failed {
			fmt.Fprintf(&b, "\n### %s\n\n%s Rule: %s. File: `%s`.\n\n%s\n", o.Case.Name, o.Case.About, o.BrokenRule(), o.Case.File(), indent(o.Details()))
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nNote: %s.\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary is the totals in a sentence for each level, the first first.
func (r *Report) Summary() string {
	var out []string
	for _, l := range r.Levels() {
		text := fmt.Sprintf("%s: %d of %d cases passed, %d failed", l.Level, l.Passed, l.Ran(), l.Failed)
		if l.KnownFailed > 0 {
			text += fmt.Sprintf(", %d known to fail", l.KnownFailed)
		}
		if l.KnownPassed > 0 {
			text += fmt.Sprintf(", %d known to fail that pass", l.KnownPassed)
		}
		if l.Skipped > 0 {
			text += fmt.Sprintf(", %d skipped", l.Skipped)
		}
		out = append(out, text+".")
	}
	n := 0
	for _, o := range r.Cases {
		n += o.Exchanges
	}
	return strings.Join(out, "\n") + fmt.Sprintf("\n%d exchanges in %.1f s.", n, r.Took.Seconds())
}
