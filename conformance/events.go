package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Event is what a parser says of a piece of text: a line of want/events.txt.
type Event struct {
	Kind     string // content, reasoning, call_start, args, call_end …
	Index    int    // of the call, for those about one
	Text     string // of content, reasoning and args
	Name, ID string // of call_start; ID only if the model wrote one
}

// arguments says what stands behind each kind of event: i is the call's index, s a
// JSON string, ? marks what may be missing.
var arguments = map[string]string{ //nolint:gochecknoglobals // a table
	"content":       "s",    // text of the answer
	"reasoning":     "s",    // text of the model's reasoning
	"call_start":    "iss?", // a call begins: its name, and its id if the model wrote one
	"args":          "is",   // the call's arguments
	"call_end":      "i",    // the call is complete
	"cut":           "i",    // the output ended inside the call, which is lost
	"void":          "i",    // the call was none: its text follows as content
	"was_reasoning": "",     // all content so far was reasoning
}

// NoEvents is what FormatEvents writes where there are none. A line that begins with
// # is a comment in want/events.txt.
const NoEvents = "# nothing\n"

// FormatEvents writes events as want/events.txt has them. Neighbours that only the
// cutting of the text has separated are joined.
func FormatEvents(events []Event) string {
	if len(events) == 0 {
		return NoEvents
	}
	var b strings.Builder
	for _, e := range joinEvents(events) {
		b.WriteString(e.Kind)
		for i, what := range strings.TrimSuffix(arguments[e.Kind], "?") {
			switch {
			case what == 'i':
				fmt.Fprintf(&b, " %d", e.Index)
			case e.Kind != "call_start":
				b.WriteString(" " + quote(e.Text))
			case i == 1:
				b.WriteString(" " + quote(e.Name))
			case e.ID != "":
				b.WriteString(" " + quote(e.ID))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// joinEvents joins neighbours of a kind that has text, and leaves empty ones out.
func joinEvents(events []Event) []Event {
	var joined []Event
	for _, e := range events {
		hasText := e.Kind == "content" || e.Kind == "reasoning" || e.Kind == "args"
		last := len(joined) - 1
		switch {
		case hasText && e.Text == "":
		case hasText && last >= 0 && joined[last].Kind == e.Kind && joined[last].Index == e.Index:
			joined[last].Text += e.Text
		default:
			joined = append(joined, e)
		}
	}
	return joined
}

// setEvents reads want/events.txt, each event a line, without its comments.
func (w *Want) setEvents(b []byte) error {
	w.Events = []string{}
	for line := range lines(b) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if err := checkEvent(line); err != nil {
			return fmt.Errorf("%w: %.80s", err, line)
		}
		w.Events = append(w.Events, line)
	}
	return nil
}

// checkEvent refuses a line that is no event.
func checkEvent(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	want, known := arguments[kind]
	if !known {
		return errors.New("there is no event of this kind")
	}
	var got []byte
	for d := json.NewDecoder(strings.NewReader(rest)); d.More(); {
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		switch v.(type) {
		case string:
			got = append(got, 's')
		case float64:
			got = append(got, 'i')
		default:
			return errors.New("only numbers and strings follow the kind")
		}
	}
	least := want
	if before, optional := strings.CutSuffix(want, "s?"); optional {
		least, want = before, before+"s"
	}
	if !slices.Contains([]string{least, want}, string(got)) {
		return errors.New("an event of this kind has other arguments")
	}
	return nil
}
