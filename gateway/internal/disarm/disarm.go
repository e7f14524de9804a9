// Package disarm takes out of a text what a model or a parser of models' output could take for
// more than text: control characters, and marks such as <|im_end|> and <tool_call>.
package disarm

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// twins stand in the place of the characters that marks are recognized by. They look alike, and
// are in no mark.
var twins = map[rune]rune{'<': '‹', '>': '›', '[': '⟦', '◁': '◃', '▷': '▹', '｜': '¦', '{': '❴', '(': '❨', '`': 'ˋ'}

// marks are those of chat templates and of tokenizers, besides what parsers know of.
var marks = []string{
	"<|", "|>", "<｜", "｜>", "◁", "▷", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
	"[TOOL_CONTENT]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]", "[ARGS]", "[CALL_ID]", "[END_TOOL_REQUEST]", "[/TOOL_CALL]",
	"<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<mask>", "<sys>", "<<SYS>>", "<</SYS>>", "<start_of_turn>", "<end_of_turn>", "<unused", "<SPECIAL_", "[unused",
	"<think>", "</think>", "<thinking>", "</thinking>", "<seed:", "</seed:", "<mm:", "</mm:", "<answer>", "</answer>", "<tool_response>", "</tool_response>",
	"<tool_result", "</tool_result", "<function_results>", "</function_results>", "<function_response>", "<parameter", "</parameter>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
	"<atem:", "</atem:", "<escape>", "<end_function_call>", "<start_function_response>", "<end_function_response>", "]<]",
}

// Rules disarm texts. They may be used by several goroutines.
type Rules struct {
	byRune map[rune][]mark
}

// mark is a text that is broken by replacing one character of it.
type mark struct {
	before, after string // what stands before the character, and what begins with it
}

// New makes rules for the usual marks and for those of parsers. One that is ordinary text, such
// as a brace or a word, is left alone: see Hard.
func New(parsers []string) *Rules {
	r := &Rules{byRune: map[rune][]mark{}}
	all := slices.Clone(marks)
	for _, m := range parsers {
		all = append(all, m)
		if rest, ok := strings.CutPrefix(m, "<"); ok && rest != "" && rest[0] != '/' {
			all = append(all, "</"+rest)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	for _, m := range slices.Compact(all) {
		if len(m) < 2 || strings.HasPrefix(m, "```") {
			continue
		}
		if i := strings.IndexFunc(m, breakable); i >= 0 {
			c := []rune(m[i:])[0]
			r.byRune[c] = append(r.byRune[c], mark{m[:i], m[i:]})
		}
	}
	return r
}

func breakable(c rune) bool { return twins[c] != 0 && c != '{' && c != '(' && c != '`' }

// Text is s without control characters and invisible ones that reorder or hide text, and with all
// marks broken: the first of their characters that matters has another in its place, which looks
// alike.
func (r *Rules) Text(s string) string {
	if !strings.ContainsFunc(s, func(c rune) bool { return invisible(c) || r.byRune[c] != nil }) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.Map(func(c rune) rune {
		if invisible(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	var b strings.Builder
	b.Grow(len(s))
	for i, c := range s {
		if r.marked(s, i, c) {
			c = twins[c]
		}
		b.WriteRune(c)
	}
	return b.String()
}

// marked reports whether the character at a place of s makes a mark.
func (r *Rules) marked(s string, i int, c rune) bool {
	for _, m := range r.byRune[c] {
		if strings.HasPrefix(s[i:], m.after) && strings.HasSuffix(s[:i], m.before) {
			return true
		}
	}
	return false
}

// Hard is s with all characters replaced that any format of calls needs.
func Hard(s string) string {
	return strings.Map(func(c rune) rune {
		if twin := twins[c]; twin != 0 {
			return twin
		}
		return c
	}, s)
}

// invisible reports whether a character has no place in a text: controls but tab and line feed,
// marks that change the direction of what follows, tags, and the like. Joiners stay: scripts and
// emoji need them.
func invisible(c rune) bool {
	switch {
	case c == '\t' || c == '\n':
		return false
	case unicode.IsControl(c), c >= 0x202A && c <= 0x202E, c >= 0x2060 && c <= 0x206F, c >= 0xE0000 && c <= 0xE0FFF, c == 0x200B, c == 0xFEFF, c >= 0xFFF9 && c <= 0xFFFB:
		return true
	}
	return false
}
