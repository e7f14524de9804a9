package cli

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// part is what a page has for its reader to do, or to see: a command, a file, or what something gives.
type part struct {
	command string // a line for a shell, "" if it is none
	inline  bool   // it stands within a sentence
	file    string // the name of what is a file, "" if it is none
	text    string // what the file has, or what the last command printed
	output  bool   // text is what the last command printed
	json    bool   // text is JSON that belongs to nothing before it
}

var (
	pageFence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	// fileNamed is a name at the end of the paragraph before a block.
	fileNamed = regexp.MustCompile("`([^`\\s]+\\.(?:json|toml|yml|yaml|py|mjs|go))`[^`]*(?:`[^`]*`[^`]*)*:\\s*$")
	// pagePrograms are those whose commands are known within a sentence: with something behind it.
	pagePrograms = regexp.MustCompile(`^(?:bin/)?(?:aider|apt-get|callgate|cn|cp|curl|docker|export|git|go|helm|install|kubectl|litellm|make|node|npm|open|pip|python3?|rustup|sha256sum|sh|ssh|systemctl|systemd-analyze) \S`)
)

// partsOf reads a page, in its order. Problems are blocks that say not what they are.
func partsOf(text string) (parts []part, problems []string) {
	last := 0 // the place of the last block's end
	for _, m := range pageFence.FindAllStringSubmatchIndex(text, -1) {
		prose, language, block := text[last:m[0]], text[m[2]:m[3]], text[m[4]:m[5]]
		parts = append(parts, inlineOf(prose)...)
		follows := len(parts) > 0 && parts[len(parts)-1].command != "" && !parts[len(parts)-1].inline // a command's block is right before
		name := ""
		paragraphs := strings.Split(strings.TrimSpace(prose), "\n\n")
		if n := fileNamed.FindStringSubmatch(paragraphs[len(paragraphs)-1]); n != nil {
			name = n[1]
		}
		switch {
		case language == "sh":
			for _, c := range commandsOf(block) {
				parts = append(parts, part{command: c})
			}
		case language == "console":
			parts = append(parts, sessionOf(block)...)
		case language == "yaml" && name == "":
			parts = append(parts, part{file: "callgate.yaml", text: block})
		case language == "go": // of this project's own
		case name != "":
			parts = append(parts, part{file: name, text: block})
		case (language == "text" || language == "json") && follows:
			parts = append(parts, part{output: true, text: block})
		case language == "json":
			parts = append(parts, part{json: true, text: block})
		case language == "text": // a picture, a list
		default:
			problems = append(problems, "a block of "+cmp.Or(language, "no language")+" is neither sh, console, text nor a file whose name stands before it:\n"+block)
		}
		last = m[1]
	}
	return append(parts, inlineOf(text[last:])...), problems
}

// inlineOf are the commands in the sentences of a text.
func inlineOf(text string) (parts []part) {
	for text != "" {
		i := strings.IndexByte(text, '`')
		if i < 0 {
			break
		}
		text = text[i:]
		ticks := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		code, rest, ok := strings.Cut(text[len(ticks):], ticks)
		if text = text[len(ticks):]; !ok || strings.Contains(code, "\n\n") {
			continue
		}
		text = rest
		if code = strings.Join(strings.Fields(code), " "); pagePrograms.MatchString(code) {
			parts = append(parts, part{command: strings.ReplaceAll(code, `\|`, "|"), inline: true}) // as tables write it
		}
	}
	return parts
}

// commandsOf are the commands of a block: its lines, but that those go on behind a backslash and
// within quotes.
func commandsOf(block string) (commands []string) {
	whole := ""
	for line := range strings.Lines(block) {
		if whole += line; !goesOn(whole) {
			if c := strings.TrimSpace(whole); c != "" && !strings.HasPrefix(c, "#") {
				commands = append(commands, c)
			}
			whole = ""
		}
	}
	if whole != "" { // a quote has no end: the shell says so
		commands = append(commands, whole)
	}
	return commands
}

// goesOn reports whether a command has no end yet. A quote in a comment is none.
func goesOn(command string) bool {
	quote := rune(0)
	before := ' '
	for i, c := range command {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '#' && (before == ' ' || before == '\n'):
			if end := strings.IndexByte(command[i:], '\n'); end < 0 || i+end == len(command)-1 {
				return false
			}
		}
		before = c
	}
	return quote != 0 || strings.HasSuffix(command, "\\\n")
}

// sessionOf are the commands of a block that shows a terminal, behind "$ ", each with what it prints.
func sessionOf(block string) (parts []part) {
	for i, one := range strings.Split("\n"+block, "\n$ ") {
		if i == 0 {
			continue
		}
		command, output := "", one
		for line := range strings.Lines(one) {
			command, output = command+line, output[len(line):]
			if !goesOn(command) {
				break
			}
		}
		parts = append(parts, part{command: strings.TrimSpace(command)})
		if output = strings.TrimSpace(output); output != "" {
			parts = append(parts, part{output: true, text: output + "\n"})
		}
	}
	return parts
}

// shows reports whether what was printed is what a page shows. "…" is any text there, and a line of it
// any lines; JSON may have line breaks on the page where the answer has none.
func shows(page, printed string) bool {
	page, printed = strings.TrimSpace(page), strings.TrimSpace(printed)
	if strings.HasPrefix(page, "{") {
		page, printed = strings.ReplaceAll(page, "\n", ""), strings.ReplaceAll(printed, "\n", "")
		page, printed = jsonSpace.ReplaceAllString(page, "$1"), jsonSpace.ReplaceAllString(printed, "$1")
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(page), "…", ".*")
	return regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(printed)
}

// jsonSpace is space between the members of JSON, and between elements; in strings too, on both sides alike.
var jsonSpace = regexp.MustCompile(`([,:]) +`)

// TestPageParts holds that what a page has to do is found, and nothing else.
func TestPageParts(t *testing.T) {
	t.Parallel()
	page := "Run `callgate check\nFILE`, or `callgate`; not ``a ` callgate b`` or `make`.\n\n```yaml\na: 1\n```\n\nThe file `b.yaml`, with `x`:\n\n```yml\nb: 2\n```\n\n" +
		"```sh\n# first\none 'two\nthree' # it's why\nfour \\\n  five\n```\n\nprints\n\n```text\nsix\n```\n\n```console\n$ seven '\n8'\n\nnine\n$ ten\n```\n\n```json\n{\"a\": 1}\n```\n"
	parts, problems := partsOf(page + "Words `make test`.\n")
	want := []part{
		{command: "callgate check FILE", inline: true}, {file: "callgate.yaml", text: "a: 1\n"}, {file: "b.yaml", text: "b: 2\n"},
		{command: "one 'two\nthree' # it's why"}, {command: "four \\\n  five"}, {output: true, text: "six\n"},
		{command: "seven '\n8'"}, {output: true, text: "nine\n"}, {command: "ten"}, {output: true, text: "{\"a\": 1}\n"}, {command: "make test", inline: true},
	}
	if !slices.Equal(parts, want) || len(problems) != 0 {
		t.Errorf("got %+v and %q, want %+v", parts, problems, want)
	}
	if _, problems := partsOf("```\ncallgate serve\n```\n"); len(problems) != 1 {
		t.Errorf("got %q for a block without a language, want one problem", problems)
	}
	for _, c := range []struct {
		page, printed string
		same          bool
	}{
		{"a …\nb", "a 17\nb\n", true}, {"a\n…\nz\n", "a\nb\nc\nz", true}, {"a", "ab", false}, {"{\"a\":[1,\n2]}", "{\"a\": [1, 2]}\n", true}, {"{\"a\":1}", "{\"a\":2}", false},
	} {
		if shows(c.page, c.printed) != c.same {
			t.Errorf("%q beside %q: want %t", c.page, c.printed, c.same)
		}
	}
}
