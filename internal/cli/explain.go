package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/glossary"
	"github.com/callgate/callgate/internal/spelling"
)

// explainCmd says what the gateway's names mean.
type explainCmd struct {
	Names []string `arg:"" optional:"" help:"Names as they stand in a header, a metric or the log, such as cooling:openai or args_json=1; a whole header is fine."`
	// The page docs/glossary.md is this.
	Reference bool `help:"Print all names instead, in Markdown."`
}

// chapters are the sorts of names, in the order in which they are looked up.
var chapters = []struct {
	title, kind, says string
	terms             []glossary.Term
}{
	{"Faults", "fault", "What was wrong with a call or an answer: `x-callgate-faults`, `callgate_tool_faults_total`. One that\nwas passed on stands among the warnings too. [Repair](repair.md) says what is done about each.", glossary.Faults},
	{"Repairs", "repair", "What was repaired, or with `report` would have been: `x-callgate-repairs`,\n`callgate_tool_repairs_total`.", glossary.Repairs},
	{"Warnings", "warning", "What else there is to say: `x-callgate-warnings`, `callgate_warnings_total`. What stands behind a\ncolon, here in capitals, says of what, and metrics are without it.", glossary.Warnings},
	{"Signals of the guard", "signal", "What gave an answer away to the [execution guard](guards.md): `x-callgate-guard`,\n`callgate_guard_signals_total`.", glossary.Signals},
	{"Codes of errors", "code", "What an error's `code` says, and that of attempts in metrics. [Reference](reference.md#errors) has\ntheir statuses.", glossary.Codes},
}

// Run prints what names mean, or all of them.
func (c *explainCmd) Run(e *env) error {
	if c.Reference {
		return glossaryPage(e.stdout)
	}
	names := namesIn(c.Names)
	if len(names) == 0 {
		return usageError{errors.New("explain: give a name, such as cooling:openai (see callgate explain --help)")}
	}
	var unknown []error
	for _, name := range names {
		if !explain(e.stdout, name) {
			unknown = append(unknown, errors.New(unknownName(name)))
		}
	}
	return errors.Join(unknown...)
}

// listed is how a stream's last comment and a line of the log name what they list.
var listed = regexp.MustCompile(`^"?(?:faults|repairs|warnings|code)"?[=:]"?(.+?)"?$`)

// namesIn are the names in what somebody has copied: names, a header in whole, or a line of the log or the comment
// that ends a stream, of which what has no names of ours is left out.
func namesIn(args []string) (names []string) {
	words := strings.FieldsFunc(strings.Join(args, " "), func(r rune) bool { return r == ' ' || r == ';' })
	var lists []string
	for _, word := range words {
		if m := listed.FindStringSubmatch(strings.TrimRight(word, ",")); m != nil {
			lists = append(lists, m[1])
		}
	}
	if len(lists) == 0 {
		lists = words
	}
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if strings.HasPrefix(strings.ToLower(name), "x-callgate-") {
				continue
			}
			if name, _, _ = strings.Cut(name, "="); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// explain prints what a name means, in each sense that it has, and reports whether it has any.
func explain(w io.Writer, name string) (known bool) {
	bare, _, _ := strings.Cut(name, ":")
	for _, c := range chapters {
		for i := range c.terms {
			t := &c.terms[i]
			if t.Name != bare || bare != name && t.Behind == "" {
				continue
			}
			means := t.Means
			if c.kind == "warning" {
				means = glossary.Warning(name)
			}
			fmt.Fprintf(w, "%s %s: %s\n", c.kind, name, means)
			known = true
		}
	}
	return known
}

// unknownName says that a name is none of the gateway's, with those that may be meant.
func unknownName(name string) string {
	bare, _, _ := strings.Cut(name, ":")
	var all []string
	for _, c := range chapters {
		for i := range c.terms {
			if !slices.Contains(all, c.terms[i].Name) {
				all = append(all, c.terms[i].Name)
			}
		}
	}
	slips := spelling.Rule{Most: 1, Longest: 64, Changes: func(word, _ string) int { return (len(word) + 2) / 3 }} // as in a configuration
	if near := slips.Near(bare, all); len(near) > 0 {
		return fmt.Sprintf("%q is no name of the gateway's. Did you mean %q?", name, near[0])
	}
	return fmt.Sprintf("%q is no name of the gateway's: a plugin may have given it (see callgate explain --reference for all).", name)
}

// glossaryPage prints docs/glossary.md.
func glossaryPage(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "<!-- callgate explain --reference prints this page; make golden writes it anew -->\n\n# Glossary\n\n"+
		"What the names mean that the gateway gives to what it found, changed and could not do, in headers,\n"+
		"metrics, the log and on the operator's page. `callgate explain cooling:openai` says it too, of\n"+
		"a whole header as well. Plugins may give names of their own.\n")
	for _, c := range chapters {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| name | what it says |\n|---|---|\n", c.title, c.says)
		for i := range c.terms {
			fmt.Fprintf(b, "| `%s` | %s |\n", c.terms[i].Says(), strings.TrimSuffix(c.terms[i].Means, "."))
		}
	}
	return b.Flush()
}
