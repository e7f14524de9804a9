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
	details []*detail
	places  map[detailKey]int // the last detail of a type and an index
	blocks  []byte            // elements of thinking_blocks
}

// detail is an entry of reasoning_details, of which a stream brings pieces.
type detail struct {
	members []member
	places  map[string]int // of the members
}

// detailKey says which pieces are of one entry: its type and its index, as JSON.
type detailKey struct{ kind, index string }

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
	key := detailKey{string(one.get("type")), string(one.get("index"))}
	at := t.same(key)
	if at < 0 || whole {
		at = len(t.details)
		t.details = append(t.details, &detail{places: map[string]int{}})
		if t.places == nil {
			t.places = map[detailKey]int{}
		}
		t.places[key] = at
	}
	wire.Members(one, 0, func(name []byte, v wire.Span) bool {
		t.details[at].put(string(name), v.Of(one))
		return true
	})
}

// same is the place of the entry that a piece with this key goes on, or -1. Without an index that is the
// last one only, and what is encrypted is whole then.
func (t *thoughts) same(key detailKey) int {
	at, ok := t.places[key]
	if !ok || key.index == "" && (at != len(t.details)-1 || key.kind == `"reasoning.encrypted"`) {
		return -1
	}
	return at
}

// put gives the entry a further value: texts come in pieces, of all else the last counts.
func (d *detail) put(name string, value []byte) {
	at, ok := d.places[name]
	if !ok {
		d.places[name] = len(d.members)
		d.members = append(d.members, member{name, append([]byte(nil), value...)})
		return
	}
	m := &d.members[at]
	switch pieces := name == "text" || name == "summary"; {
	case pieces && isString(m.value) && isString(value):
		m.value = append(m.value[:len(m.value)-1], value[1:]...)
	case string(value) != "null":
		m.value = append([]byte(nil), value...)
	}
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
			for _, m := range d.members {
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
