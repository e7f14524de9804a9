package chain

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// writer collects a chain's events and keeps the rules of white space: what
// touches markup goes, except that two pieces of content with markup between them
// stay as far apart as the model wrote the first gap; all else stays.
type writer struct {
	events []abi.Event
	white  [2][]byte // white space that may yet touch markup: content's, reasoning's
	wrote  [2]bool   // something was written before it
	kind   abi.Kind  // of the last text
	trim   bool      // markup was the last thing: white space behind it goes
	gap    [2]bool   // unless there was none before it
	marked bool      // there was markup

	lineBlank bool // only white space since the last newline
	lineMarks bool // only that and marks of lists and quotes
	fence     fence
	last      byte // the last byte of text
	first     byte // the first byte of the line that is no white space
	indent    int  // columns of white space before it
	ink       [3]byte
	inks      int  // how many of ink are there: the last bytes of text that are no white space
	quotes    int  // quotation marks in a row at the end of the text
	triple    bool // inside three of them, as Python has around texts
	next      int  // index of the next call
	open      int  // index of the open call, -1 if none
}

func newWriter() writer {
	return writer{lineBlank: true, lineMarks: true, open: -1, kind: abi.Content, events: make([]abi.Event, 0, 8)}
}

func (w *writer) reset() { w.events = w.events[:0] }

func (w *writer) add(e abi.Event) { w.events = append(w.events, e) }

func slot(kind abi.Kind) int {
	if kind == abi.Reasoning {
		return 1
	}
	return 0
}

// write gives out text but for white space that may turn out to touch markup.
func (w *writer) write(kind abi.Kind, text []byte) {
	w.line(text)
	i := slot(kind)
	w.kind = kind
	if w.trim {
		lead := 0
		for lead < len(text) && chars.IsSpace(text[lead]) {
			lead++
		}
		if w.gap[i] && w.wrote[i] {
			w.white[i] = append(w.white[i], text[:lead]...)
		}
		text = text[lead:]
		if len(text) == 0 {
			return
		}
		w.trim = false
	}
	end := len(text)
	for end > 0 && chars.IsSpace(text[end-1]) {
		end--
	}
	if end > 0 {
		w.add(abi.Event{Kind: kind, Text: string(w.white[i]) + string(text[:end])})
		w.white[i], w.wrote[i] = w.white[i][:0], true
	}
	w.white[i] = append(w.white[i], text[end:]...)
}

// passed notes content that was given out past write, all of it.
func (w *writer) passed(text []byte) {
	w.line(text)
	w.wrote[0] = true
}

// line keeps track of where lines and fences begin.
func (w *writer) line(text []byte) {
	w.fence.read(text)
	blank, marks := true, true // of what was read backwards
	for i := len(text) - 1; ; i-- {
		if i < 0 {
			blank, marks = blank && w.lineBlank, marks && w.lineMarks
			break
		}
		if text[i] == '\n' {
			break
		}
		blank = blank && chars.IsSpace(text[i])
		marks = marks && (chars.IsSpace(text[i]) || strings.IndexByte(">-*+.)0123456789", text[i]) >= 0)
		if !marks {
			break
		}
	}
	w.lineBlank, w.lineMarks = blank, marks
	w.margin(text)
	w.triples(text)
	if len(text) > 0 {
		w.last = text[len(text)-1]
	}
}

// triples looks for three quotation marks in a row.
func (w *writer) triples(text []byte) {
	for len(text) > 0 {
		if w.quotes == 0 {
			i := bytes.IndexByte(text, '"')
			if i < 0 {
				return
			}
			text = text[i:]
		}
		if text[0] != '"' {
			w.quotes = 0
		} else if w.quotes++; w.quotes == 3 {
			w.triple, w.quotes = !w.triple, 0
		}
		text = text[1:]
	}
}

// margin keeps track of how a line begins, and of the last characters.
func (w *writer) margin(text []byte) {
	line := text
	if bytes.IndexByte(text, '\n') >= 0 { // quicker than looking for the last one where there is none
		w.first, w.indent = 0, 0
		line = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	w.margins(line)
	text = chars.TrimEnd(text)
	if len(text) >= len(w.ink) {
		w.inks = copy(w.ink[:], text[len(text)-len(w.ink):])
		return
	}
	for _, b := range text {
		if w.inks == len(w.ink) {
			copy(w.ink[:], w.ink[1:])
			w.inks--
		}
		w.ink[w.inks] = b
		w.inks++
	}
}

func (w *writer) margins(line []byte) {
	for i := 0; i < len(line) && w.first == 0; i++ {
		switch line[i] {
		case ' ':
			w.indent++
		case '\t':
			w.indent += 4
		case '\r':
		default:
			w.first = line[i]
		}
	}
}

// newLine notes that what comes next begins a line, whatever was before.
func (w *writer) newLine() {
	w.lineBlank, w.lineMarks, w.first, w.indent, w.inks, w.last = true, true, 0, 0, 0, 0
}

// introduces reports whether the text so far ends with what introduces an example: a
// colon, a tag, an opening bracket, a rule.
func (w *writer) introduces() bool {
	if w.inks == 0 {
		return false
	}
	return strings.IndexByte(`:>"'-=([{}),|`, w.ink[w.inks-1]) >= 0 || string(w.ink[:w.inks]) == "："
}

// edge notes that markup stood here; text of kind next follows.
func (w *writer) edge(next abi.Kind) {
	w.trim, w.marked, w.kind = true, true, next
	w.white[1] = w.white[1][:0]
	if !w.wrote[0] {
		w.white[0] = w.white[0][:0]
	}
	w.gap = [2]bool{len(w.white[0]) == 0, true}
}

// trims reports whether white space at the start of the next text would go.
func (w *writer) trims() bool { return w.trim }

// holding reports whether there is white space of which it is not known yet
// whether it stays.
func (w *writer) holding() bool { return len(w.white[0]) > 0 || len(w.white[1]) > 0 }

// settle lets white space of content go that a reader has as it was written.
func (w *writer) settle() { w.white[0] = w.white[0][:0] }

// finish gives out white space at the end, unless it touches markup.
func (w *writer) finish() {
	i := slot(w.kind)
	if !w.trim && len(w.white[i]) > 0 {
		w.add(abi.Event{Kind: w.kind, Text: string(w.white[i])})
	}
	w.white[0], w.white[1] = w.white[0][:0], w.white[1][:0]
}

// call gives out an event of a parser, with the chain's own index.
func (w *writer) call(e abi.Event, report *Report, parser string) {
	switch e.Kind {
	case abi.Content, abi.Reasoning:
		w.write(e.Kind, []byte(e.Text))
		return
	case abi.CallStart:
		w.edge(abi.Content)
		w.open = w.next
		w.next++
	case abi.CallEnd:
		report.Calls++
		if !slices.Contains(report.Parsers, parser) {
			report.Parsers = append(report.Parsers, parser)
		}
	case abi.Cut:
		report.warn("truncated_call")
	case abi.Repair:
		if report.Repairs == nil {
			report.Repairs = map[string]int{}
		}
		report.Repairs[e.Name]++
		return
	}
	w.edge(abi.Content)
	e.Index = w.open
	w.add(e)
	if e.Kind == abi.CallEnd || e.Kind == abi.Cut {
		w.open = -1
	}
}

// void takes the open call back and reports whether there was one.
func (w *writer) void() bool {
	if w.open < 0 {
		return false
	}
	w.add(abi.Event{Kind: wire.Void, Index: w.open})
	w.open = -1
	return true
}
