package reference

import (
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/internal/plaintext"
)

const (
	// mostListed is how many candidates a message names for a reference.
	mostListed = 10
	// longestText is how many bytes of a text or a name a message carries.
	longestText = 80
	// longestMessage is how many bytes the message about several references has at most.
	longestMessage = 2000
)

// failing is a reference that could not be resolved.
type failing struct {
	*place
	verdict
}

// explain makes a problem of the references that could not be resolved, or nil if
// there is none. The class and the path are the first one's.
func explain(failed []failing) *repair.Problem {
	if len(failed) == 0 {
		return nil
	}
	p := &repair.Problem{Class: Unresolved, Path: failed[0].path}
	if failed[0].state == ambiguous {
		p.Class = Ambiguous
	}
	var message strings.Builder
	said := map[string]bool{}
	var hints []string
	for i := range failed {
		sentence := failed[i].sentence()
		if i > 0 && message.Len()+len(sentence) > longestMessage {
			message.WriteString(" The same holds for " + strconv.Itoa(len(failed)-i) + " more.")
			break
		}
		if i > 0 {
			message.WriteByte(' ')
		}
		message.WriteString(sentence)
		if hint := failed[i].hint(); !said[hint] {
			said[hint] = true
			hints = append(hints, hint)
		}
	}
	p.Message, p.Hint = message.String(), strings.Join(hints, " ")
	return p
}

// sentence says what is wrong with a reference and lists candidates. It does not
// repeat the argument, which the model knows.
func (f *failing) sentence() string {
	from, match, value := quote(f.rule.From), quote(f.rule.Match), quote(f.rule.Value)
	if f.state == ambiguous {
		return f.path + ": in the results of " + from + " several things have a " + match + " that fits: " + f.list() + "."
	}
	return f.path + ": in the results of " + from + " nothing has this " + value + ", or a " + match + " like it. They have " + f.list() + "."
}

func (f *failing) hint() string {
	value := quote(f.rule.Value)
	if f.state == ambiguous {
		return "Give the " + value + " of the one that is meant, or ask the user which one it is."
	}
	return "Give the " + value + " of one of them, or call " + quote(f.rule.From) + " to see what there is now."
}

// list names candidates by their texts and values.
func (f *failing) list() string {
	parts := make([]string, 0, len(f.listed)+1)
	for i := range f.listed {
		c := &f.listed[i]
		parts = append(parts, quote(c.text)+" ("+cut(f.rule.Value)+" "+c.value.short()+")")
	}
	if f.more > 0 {
		parts = append(parts, "and "+strconv.Itoa(f.more)+" more")
	}
	return strings.Join(parts, ", ")
}

// short is the scalar as it stands in JSON, cut to a length that a message can carry.
func (s scalar) short() string {
	if s.kind == aNumber {
		return cut(s.literal)
	}
	s.text = cut(s.text)
	return string(s.json())
}

func quote(s string) string { return strconv.Quote(cut(s)) }

// cut is s cut to a length that a message can carry.
func cut(s string) string { return plaintext.Excerpt(s, longestText) }
