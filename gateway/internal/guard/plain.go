package guard

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// What stands in a plain text for something that was taken out of it.
const (
	quoted   = '\x01' // a quotation, or code within a line
	fileName = '\x02' // the name of a file, quoted
	tick     = '\x03' // a picture that says that something is done
	codeMark = '\x04' // a block of code
	saidMark = '\x05' // a quoted line
)

// plain is a text in the form that words are found in: folded, one space between words,
// without quotations, code and the marks of Markdown. Lines stay lines.
type plain struct {
	text []byte
	// code and quotation say how many bytes were taken out with blocks of code, and with
	// quoted lines.
	code, quotation int
	// itemized says that it begins with the first item of a numbered list.
	itemized bool
	// quotes are the quotations within lines, in their order: what the marks quoted and
	// fileName stand for.
	quotes []string
}

// longestQuote bounds a quotation within a line, in bytes. What is longer is an inch sign
// or a quotation that was never closed.
const longestQuote = 1000

type plainer struct {
	plain
	rest string
}

// makePlain takes a text as a model or a user wrote it, and writes its plain one to the room of
// another. It is linear.
func makePlain(room plain, text string) plain {
	p := plainer{plain: plain{text: slices.Grow(room.text[:0], len(text)+8), quotes: room.quotes[:0]}, rest: unwrap(text)}
	for p.rest != "" {
		if !isLineOfWords(p.rest[0]) {
			if p.block() {
				continue
			}
			p.beginLine()
		}
		p.line()
	}
	return p.plain
}

// isLineOfWords reports whether a byte begins a line that is neither quoted nor code nor an item.
func isLineOfWords(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '\n'
}

// unwrap takes off quotation marks that are around all of a text.
func unwrap(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); n > 2 && text[0] == '"' && text[n-1] == '"' && strings.Count(text, `"`) == 2 {
		return text[1 : n-1]
	}
	return text
}

// block leaves out a block of code or a quoted line, if one begins here.
func (p *plainer) block() bool {
	line, mark := strings.TrimLeft(p.rest, " \t\r"), byte(codeMark)
	switch {
	case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
		before := len(line)
		p.rest = skipFence(line)
		p.code += before - len(p.rest)
	case strings.HasPrefix(line, ">"), isSpeech(line):
		_, p.rest, _ = strings.Cut(line, "\n")
		p.quotation += len(line) - len(p.rest)
		mark = saidMark
	default:
		return false
	}
	p.text = append(p.text, '\n', mark, '\n')
	return true
}

// beginLine takes off what stands at the beginning of a line: the marks of headings and
// of lists.
func (p *plainer) beginLine() {
	line := strings.TrimLeft(p.rest, " \t\r")
	line = strings.TrimLeft(line, "#*-+•·–—→ \t")
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if 0 < digits && digits < 3 && (strings.HasPrefix(line[digits:], ". ") || strings.HasPrefix(line[digits:], ") ")) {
		line = strings.TrimLeft(line[digits+2:], " *-")
		p.itemized = p.itemized || len(p.text) == 0
	}
	for _, box := range []string{"[x] ", "[X] ", "[ ] "} {
		if rest, found := strings.CutPrefix(line, box); found {
			line = rest
			if box != "[ ] " {
				p.text = append(p.text, tick)
			}
		}
	}
	p.rest = line
}

// isSpeech reports whether a line is what a person in a story says: a dash without a
// space, as novels in many languages have it.
func isSpeech(line string) bool {
	rest, found := strings.CutPrefix(line, "—")
	r, _ := utf8.DecodeRuneInString(rest)
	return found && (isWord(r) || r == '¡' || r == '¿')
}

// skipFence returns what is behind the block of code that a text begins with. One that
// is not closed goes to the end.
func skipFence(text string) string {
	fence := text[:3]
	if _, text, _ = strings.Cut(text, "\n"); text == "" {
		return ""
	}
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), fence) {
			return rest
		}
		text = rest
	}
	return ""
}

// line takes the rest of a line.
func (p *plainer) line() {
	for i := p.words(0); i < len(p.rest); i = p.words(i) {
		if c := p.rest[i]; c < utf8.RuneSelf {
			if c == '\n' {
				p.text = append(p.text, '\n')
				p.rest = p.rest[i+1:]
				return
			}
			i += p.ascii(c, i)
			continue
		}
		r, size := utf8.DecodeRuneInString(p.rest[i:])
		if closing := closingMark(r); closing != "" {
			if n := p.quote(p.rest[i+size:], closing); n > 0 {
				i += size + n
				continue
			}
		}
		switch {
		case isTick(r):
			p.text = append(p.text, tick)
		case isEmoji(r):
			p.text = append(p.text, '\n')
		default:
			p.rune(r)
		}
		i += size
	}
	p.rest = ""
}

// words takes simple bytes and spaces from a place on, which most of a text is, and returns where
// they end.
func (p *plainer) words(i int) int {
	n := len(p.text)
	text := slices.Grow(p.text, len(p.rest)-i)[:n+len(p.rest)-i]
	spaced := count(!mayBeSpaced(p.text))
	for ; i < len(p.rest); i++ {
		c := p.rest[i]
		if simple[c] == 0 {
			break
		}
		// No branch: where a word ends no processor foresees.
		text[n] = simple[c]
		space := count(c == ' ')
		n += 1 - spaced&space
		spaced = space
	}
	p.text = text[:n]
	return i
}

// simple are the bytes of ASCII that are no more than themselves, folded, and the space.
var simple = func() (t [256]byte) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		if strings.IndexByte("`\"'*~|", c) < 0 {
			t[c] = byte(fold(rune(c)))
		}
	}
	return t
}()

// ascii takes a byte at a place and returns how many bytes it took.
func (p *plainer) ascii(c byte, i int) int {
	switch c {
	case '`', '"':
		if n := p.quote(p.rest[i+1:], string(c)); n > 0 {
			return 1 + n
		}
		return 1
	case '\'':
		if i == 0 || !isWord(rune(p.rest[i-1])) && p.rest[i-1] < utf8.RuneSelf {
			if n := p.quote(p.rest[i+1:], "'"); n > 0 {
				return 1 + n
			}
		}
	case '*', '~':
		return 1
	case '|':
		c = ','
	case ' ', '\t', '\r':
		p.space()
		return 1
	}
	if c < ' ' {
		return 1
	}
	p.text = append(p.text, c)
	return 1
}

func (p *plainer) rune(r rune) {
	switch r = fold(r); r {
	case dropped, utf8.RuneError:
	case ' ':
		p.space()
	default:
		p.text = utf8.AppendRune(p.text, r)
	}
}

func (p *plainer) space() {
	if mayBeSpaced(p.text) {
		p.text = append(p.text, ' ')
	}
}

// mayBeSpaced reports whether a space may follow a text: one is between words, and none begins a
// line.
func mayBeSpaced(text []byte) bool {
	n := len(text)
	return n > 0 && text[n-1] != ' ' && text[n-1] != '\n'
}

// closingMark returns what closes a quotation that a rune opens, or "".
func closingMark(r rune) string {
	switch r {
	case '“':
		return "”"
	case '„':
		return "“”\""
	case '«':
		return "»"
	case '»':
		return "«"
	case '「':
		return "」"
	case '『':
		return "』"
	case '‘':
		return "’"
	case '《':
		return "》"
	}
	return ""
}

// quote puts a mark in the place of a quotation whose opening mark was read, and returns
// the length of the rest of it. It is 0 if nothing closes it in its line.
func (p *plainer) quote(rest, closing string) int {
	within := rest[:min(len(rest), longestQuote)]
	end, size := -1, 0
	for at := 0; at < len(within); {
		n := strings.IndexAny(within[at:], closing)
		if n < 0 {
			break
		}
		_, size = utf8.DecodeRuneInString(within[at+n:])
		at += n
		next, _ := utf8.DecodeRuneInString(rest[at+size:])
		if (closing == "'" || closing == "’") && isWord(next) { // an apostrophe
			at += size
			continue
		}
		end = at
		break
	}
	if end <= 0 || strings.IndexByte(within[:end], '\n') >= 0 {
		return 0
	}
	mark := byte(quoted)
	if isFileName(within[:end]) {
		mark = fileName
	}
	p.text = append(p.text, mark)
	p.quotes = append(p.quotes, strings.TrimSpace(within[:end]))
	return end + size
}

// maxFileName bounds the names of files, in bytes.
const maxFileName = 200

// isFileName reports whether a word looks like the name of a file: it has an ending, or
// it is a path.
func isFileName(word string) bool {
	if len(word) < 3 || len(word) > maxFileName || strings.ContainsAny(word, " (){}=<>@\n") || strings.Contains(word, "://") {
		return false
	}
	if word[0] == '/' || strings.HasPrefix(word, "~/") || strings.HasPrefix(word, "./") {
		return true
	}
	dot := strings.LastIndexByte(word, '.')
	ending := word[dot+1:]
	return dot > 0 && len(ending) <= 5 && (dot > 1 || len(ending) > 1) && isEnding(ending)
}

// isEnding reports whether letters, and perhaps digits, are the ending of a file's name.
func isEnding(ending string) bool {
	letters := 0
	for _, c := range []byte(ending) {
		switch {
		case 'a' <= c && c <= 'z':
			letters++
		case !isDigit(c):
			return false
		}
	}
	return letters > 0
}
