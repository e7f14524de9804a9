package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/callgate/callgate/gateway/config"
)

// withoutEmpty is an option of the command line: an environment variable that is set to nothing is
// as one that is not set, as a compose file or a chart leaves it that has no value for it.
func withoutEmpty(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			var set []string
			for _, name := range f.Tag.Envs {
				if os.Getenv(name) != "" {
					set = append(set, name)
				}
			}
			f.Tag.Envs = set
		}
		return next(nil)
	})
}

// howMany is a number of things, for people.
func howMany(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// settings is the reference of all keys of the file, flags and environment variables in Markdown.
func settings(w io.Writer) error {
	fmt.Fprint(w, settingsHead)
	tables, order := map[string]string{}, []string{""}
	for _, k := range config.Keys() {
		section := "" // keys without any below them share the first table
		if top, _, below := strings.Cut(strings.Replace(k.Path, "[]", ".", 1), "."); below || k.Type == "a mapping" || k.Type == "a list" {
			section = top
		}
		if tables[section] == "" && section != "" {
			order = append(order, section)
		}
		tables[section] += fmt.Sprintf("| `%s` | %s | %s |\n", k.Path, defaultCell(k), cell(about(k)))
	}
	for _, section := range order {
		if section != "" {
			fmt.Fprintf(w, "\n### `%s`\n", section)
		}
		fmt.Fprintf(w, "\n| key | default | what it does |\n|---|---|---|\n%s", tables[section])
	}
	if err := commandSettings(w); err != nil {
		return err
	}
	fmt.Fprint(w, settingsEnvironment)
	for _, name := range config.Variables() {
		fmt.Fprintf(w, "| `%s` | makes a provider of its vendor where there is no file, or one without `providers` and `models` |\n", name)
	}
	_, err := fmt.Fprint(w, settingsTail)
	return err
}

// commandSettings is the part of all commands, with their flags.
func commandSettings(w io.Writer) error {
	fmt.Fprint(w, settingsFlags)
	k, err := kong.New(&cli{}, commandLine()...)
	if err != nil {
		return err
	}
	for _, leaf := range k.Model.Leaves(true) {
		fmt.Fprintf(w, "\n### `%s`\n\n%s\n", leaf.FullPath(), wrapped(leaf.Help))
		rows := ""
		for _, p := range leaf.Positional {
			rows += fmt.Sprintf("| `%s` |  | %s | %s |\n", strings.ToUpper(p.Name), codeCell(p.Default), cell(p.Help))
		}
		for _, group := range leaf.AllFlags(true) {
			for _, f := range group {
				rows += flagRow(f)
			}
		}
		if rows != "" {
			fmt.Fprintf(w, "\n| flag or argument | environment variable | default | what it does |\n|---|---|---|---|\n%s", rows)
		}
	}
	return nil
}

// flagRow is a flag in the reference; "" for the one that all commands have.
func flagRow(f *kong.Flag) string {
	if f.Name == "help" {
		return ""
	}
	name := "--" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", " + name
	}
	env := []string{}
	for _, e := range f.Tag.Envs {
		env = append(env, "`"+e+"`")
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, strings.Join(env, " "), codeCell(f.Default), cell(f.Help))
}

const settingsHead = "<!-- callgate check --reference prints this page; make golden writes it anew -->\n" + `
# Settings

All keys of the [configuration file](configuration.md), all flags and all environment variables of
the program, as it says them of itself. NAME is a name of your choice, and [] an entry of a list. A
flag wins over its environment variable, and both win over the file. Values of the file may have
${NAME} and ${NAME:-default} in them. Keys with "restart" are read at the start only; all others can
be [changed while the gateway runs](reload.md).

## Keys of the file
`

const settingsFlags = `
## Flags

An environment variable that is set to nothing is as one that is not set.
`

const settingsEnvironment = `
## Further environment variables

| variable | what it does |
|---|---|
`

const settingsTail = "| `GOMEMLIMIT` | Go's limit on the heap; `limits.memory` is half of it where nothing else is written |\n" +
	"| `NO_COLOR` | lines of the log for people have no colours |\n" +
	"| `XDG_CACHE_HOME`, `HOME` | where compiled plugins are kept, unless `plugins.cache_dir` says it |\n" +
	"| `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` | for requests to providers, as in other programs; tool servers are asked directly |\n" +
	"| `SSL_CERT_FILE`, `SSL_CERT_DIR` | certificates of authorities that are trusted, such as your own, on Linux |\n"

func about(k config.Described) string {
	var parts []string
	if k.Doc != "" {
		parts = append(parts, k.Doc)
	}
	if len(k.Words) > 0 {
		parts = append(parts, "One of "+strings.Join(k.Words, ", ")+".")
	}
	if k.Min != "" {
		parts = append(parts, "From "+k.Min+" to "+k.Max+".")
	}
	if k.Like != "" {
		parts = append(parts, "It has the keys of `"+k.Like+"`.")
	}
	if k.Restart {
		parts = append(parts, "**restart**")
	}
	return strings.Join(parts, " ")
}

func defaultCell(k config.Described) string {
	if k.Required {
		return "required"
	}
	return codeCell(k.Default)
}

func codeCell(text string) string {
	if text == "" {
		return ""
	}
	return code(text)
}

// cell is text in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}

// wrapped is prose in lines of 100 characters at most, as all pages have them.
func wrapped(text string) string {
	const width = 100
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
