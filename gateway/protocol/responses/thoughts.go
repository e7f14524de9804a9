package responses

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// thoughtMembers are the members of a chat message in which providers give what only they can
// read or have signed, and want back.
var thoughtMembers = [...]string{"reasoning_details", "thinking_blocks"}

// thoughts are what has come of such members since the last reasoning item.
type thoughts struct {
	details []detail
	blocks  []byte // elements of thinking_blocks
}

// detail is an entry of reasoning_details, of which a stream brings pieces.
type detail []member

type member struct {
	name  string
	value []byte
}

func (t *thoughts) isEmpty() bool { return len(t.details) == 0 && len(t.blocks) == 0 }

// add takes a value of one of the members. whole says that it is no piece.
func (t *thoughts) add(name string, list []byte, whole bool) {
	if !isArray(list) {
		return
	}
	wire.Elements(list, 0, func(_ int, v wire.Span) bool {
		one := v.Of(list)
		switch {
		case !isObject(one):
		case name == thoughtMembers[0]:
			t.addDetail(one, whole)
		default:
			if len(t.blocks) > 0 {
				t.blocks = append(t.blocks, ',')
			}
			t.blocks = appendLine(t.blocks, one)
		}
		return true
	})
}

func (t *thoughts) addDetail(one object, whole bool) {
	var d detail
	if at := t.same(one); at >= 0 && !whole {
		d = t.details[at]
		defer func() { t.details[at] = d }()
	} else {
		defer func() { t.details = append(t.details, d) }()
	}
	wire.Members(one, 0, func(key []byte, v wire.Span) bool {
		d = d.with(string(key), v.Of(one))
		return true
	})
}

// same is the place of the entry that one is a further piece of, or -1.
func (t *thoughts) same(one object) int {
	kind, index := string(one.get("type")), string(one.get("index"))
	for at := len(t.details) - 1; at >= 0; at-- {
		d := t.details[at]
		if string(d.get("type")) == kind && string(d.get("index")) == index && (index != "" || kind != `"reasoning.encrypted"`) {
			return at
		}
		if index == "" {
			return -1 // only what came last goes on
		}
	}
	return -1
}

func (d detail) get(name string) []byte {
	for _, m := range d {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// with is the entry with a further value: texts come in pieces, of all else the last counts.
func (d detail) with(name string, value []byte) detail {
	for i := range d {
		m := &d[i]
		if m.name != name {
			continue
		}
		switch pieces := name == "text" || name == "summary"; {
		case pieces && isString(m.value) && isString(value):
			m.value = append(m.value[:len(m.value)-1], value[1:]...)
		case string(value) != "null":
			m.value = append([]byte(nil), value...)
		}
		return d
	}
	return append(d, member{name, append([]byte(nil), value...)})
}

// seal is what is sealed of a reasoning: its text, which stands between quotes, and the thoughts.
func (t *thoughts) seal(text []byte) []byte {
	b := append(append([]byte(`{"text":"`), text...), '"')
	if len(t.details) > 0 {
		b = append(b, `,"reasoning_details":[`...)
		for i, d := range t.details {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '{')
			for _, m := range d {
				b = appendLine(wire.AppendKey(b, m.name), m.value)
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	if len(t.blocks) > 0 {
		b = append(append(append(b, `,"thinking_blocks":[`...), t.blocks...), ']')
	}
	return append(b, '}')
}

// thinking is what a model has thought since the last reasoning item, and who keeps it.
type thinking struct {
	thoughts thoughts
	text     []byte // of the reasoning that is over
	vault    vault
	asked    bool // the client keeps it
	stored   bool // the gateway does
}

// isKept reports whether there are thoughts, and somebody keeps them.
func (t *thinking) isKept() bool {
	return !t.thoughts.isEmpty() && t.vault.sealer != nil && (t.stored || t.asked)
}

// seal seals what there is of the reasoning that has ended: as the client gets it, and as it is
// stored.
func (t *thinking) seal() (shown, kept string) {
	content, signed := t.thoughts.seal(t.text), !t.thoughts.isEmpty()
	if !jsontext.Value(content).IsValid() { // an upstream's own fault
		content, signed = (&thoughts{}).seal(t.text), false
	}
	t.thoughts, t.text = thoughts{}, nil
	if t.vault.sealer == nil || !t.asked && (!signed || !t.stored) {
		return "", ""
	}
	kept = t.vault.seal(content)
	if t.asked {
		shown = kept
	}
	return shown, kept
}

// itemID is the id of the nth item of a response: what it begins with says which.
func itemID(kind, response string, n int) string {
	digits := strconv.FormatInt(int64(n), 16)
	const zeros = "00000000"
	return kind + response[len("resp_"):][:groupDigits] + zeros[:len(zeros)-len(digits)] + digits
}
