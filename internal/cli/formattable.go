package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callgate/callgate/plugins"
)

// formatTable is the table of formats in Markdown, from the parsers' manifests.
// Parsers that read no format of their own are left out.
func formatTable(parsers []plugins.Info) string {
	parsers = slices.DeleteFunc(slices.Clone(parsers), func(i plugins.Info) bool { return i.Example == "" })
	slices.SortFunc(parsers, func(a, b plugins.Info) int { return cmp.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString("| parser (and its other names) | form | models | example | streams arguments |\n|---|---|---|---|---|\n")
	for _, i := range parsers {
		name := "`" + i.Name + "`"
		if len(i.Aliases) > 0 {
			name += " (" + strings.Join(i.Aliases, ", ") + ")"
		}
		streams := "no"
		if i.Streams {
			streams = "yes"
		}
		models := make([]string, len(i.Models))
		for k, m := range i.Models {
			models[k] = strings.Trim(m, "*")
		}
		forms := make([]string, len(i.Formats))
		for k, f := range i.Formats {
			forms[k] = code(f)
		}
		b.WriteString("| " + strings.Join([]string{name, strings.Join(forms, " "), cmp.Or(strings.Join(models, ", "), "any"), code(i.Example), streams}, " | ") + " |\n")
	}
	return b.String()
}

// code is text as code in a cell of a table, where a bar would end the cell.
func code(s string) string {
	s = strings.NewReplacer("|", "\\|", "\n", "⏎").Replace(s)
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if len(mark) > 1 {
		return mark + " " + s + " " + mark
	}
	return mark + s + mark
}
