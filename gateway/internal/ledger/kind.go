package ledger

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// Words in the names of tools. Those of readers and changers are hardly anything but verbs, those
// of looks and acts are things as often: "list_add", "order_status".
var (
	readers = words(`get read search find grep glob look lookup query fetch browse check show describe inspect ls cat scan
		retrieve recall download peek poll ask locate select calculate compute compare analyze analyse validate verify
		estimate detect monitor explain measure can is has which who what when where think summarize`)
	changers = words(`add create write edit update delete remove set replace insert put send rename save append apply exec execute
		bash sql mkdir rm mv cp rmdir enable disable cancel submit assign modify reset clear make toggle turn switch mark move
		exchange reschedule archive restore revoke grant approve reject publish generate adjust upload rollback purge erase
		wipe destroy install uninstall subscribe unsubscribe activate deactivate connect disconnect deploy restart reboot
		start stop pause resume transfer pay buy purchase refund notify invite reserve register escalate dismiss trigger
		redeem renew upgrade downgrade lock unlock unblock merge checkout post reply launch run`)
	looks = words(`list count head tail stat status view info details detail history forecast quote stats statistics
		availability track preview watch information report reports summary balance price prices rates logs`)
	acts = words(`order book file issue log record message email mail text call share place rate skip change return schedule
		open close complete push commit copy scale kill block issue play press click type import extend confirm raise remember
		tell dial sms drop undo sync patch lend sell forward suspend reseat refuel swap rotate`)
)

func words(text string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}

// kind is what a tool does, by what its declaration says, else by its name, else by how its
// description begins.
func (l *Ledger) kind(name string) Kind {
	if k, known := l.kinds[name]; known {
		return k
	}
	k := l.declared(name)
	if k == Unknown {
		k = ByName(name)
	}
	if k == Unknown {
		k = l.described(name)
	}
	if k == Unknown && l.named != nil {
		k = l.named.KindOf(name)
	}
	if l.kinds == nil {
		l.kinds = map[string]Kind{}
	}
	l.kinds[name] = k
	return k
}

// KindOf is what a tool does, offered or not.
func (l *Ledger) KindOf(name string) Kind { return l.kind(name) }

// ByName is what a tool does by its name: search_files, getOrder, mcp__mail__send. The first word
// that is a verb decides. It is Unknown where no word of it is known.
func ByName(name string) Kind {
	var list [8]string
	parts := split(list[:0], name)
	for i, word := range parts {
		switch {
		case changers[word], readers[word] && joins(parts[i+1:]), word == "check" && i+1 < len(parts) && (parts[i+1] == "in" || parts[i+1] == "out"):
			return Changes
		case readers[word]:
			return Reads
		}
	}
	for i, word := range parts {
		switch {
		case i == 0 && looks[word], i == len(parts)-1 && looks[word]:
			return Reads
		case acts[word] && !looks[parts[len(parts)-1]]:
			return Changes
		}
	}
	return Unknown
}

// joins reports whether a name goes on with a second act: "search_and_replace".
func joins(rest []string) bool {
	if n := len(rest); n > 0 && (rest[n-1] == "replace" || rest[n-1] == "delete" || rest[n-1] == "remove" || rest[n-1] == "edit") {
		return true // "search_replace"
	}
	for i, word := range rest {
		if i+1 < len(rest) && (word == "and" || word == "or") && changers[rest[i+1]] {
			return true
		}
	}
	return false
}

// split cuts a name into its words, in small letters.
func split(parts []string, name string) []string {
	name = name[:min(len(name), 128)]
	start := -1
	end := func(at int) {
		if start >= 0 {
			parts = append(parts, strings.ToLower(name[start:at]))
			start = -1
		}
	}
	var before rune
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) || r == utf8.RuneError:
			end(i)
		case unicode.IsUpper(r) && (unicode.IsLower(before) || start >= 0 && i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z'):
			end(i) // "getHTTPStatus"
			start = i
		case start < 0:
			start = i
		}
		before = r
	}
	end(len(name))
	return parts
}

// ReadsOnly reports whether the declaration of a tool says that it changes nothing.
func (l *Ledger) ReadsOnly(name string) bool { return l.declared(name) == Reads }

// declared is what the declaration of a tool says of it: the annotations of the Model Context
// Protocol, beside its name or beside "function".
func (l *Ledger) declared(name string) Kind {
	if !bytes.Contains(l.tools, []byte("readOnlyHint")) && !bytes.Contains(l.tools, []byte("destructiveHint")) {
		return Unknown
	}
	kind := Unknown
	l.find(name, func(tool, function wire.Span) {
		for _, at := range [2]wire.Span{tool, function} {
			notes := conversation.Member(l.tools, at, "annotations")
			switch {
			case notes.Empty():
			case string(conversation.Member(l.tools, notes, "readOnlyHint").Of(l.tools)) == "true":
				kind = Reads
			case string(conversation.Member(l.tools, notes, "readOnlyHint").Of(l.tools)) == "false",
				string(conversation.Member(l.tools, notes, "destructiveHint").Of(l.tools)) == "true":
				kind = Changes
			}
		}
	})
	return kind
}

// described is what the first words of a tool's description say: "Returns the …", "Cancel a …".
func (l *Ledger) described(name string) (k Kind) {
	l.find(name, func(_, function wire.Span) {
		text, _ := conversation.Decode(l.tools, conversation.Member(l.tools, function, "description"))
		first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(string(text[:min(len(text), 64)]))), " ")
		for _, word := range [3]string{first, strings.TrimSuffix(first, "s"), strings.TrimSuffix(first, "es")} {
			switch {
			case k != Unknown:
			case readers[word], looks[word], word == "return" && word != first:
				k = Reads
			case changers[word], acts[word]:
				k = Changes
			}
		}
	})
	return k
}

// find calls f for a tool that is offered.
func (l *Ledger) find(name string, f func(tool, function wire.Span)) {
	if len(l.tools) == 0 {
		return
	}
	wire.Elements(l.tools, 0, func(_ int, tool wire.Span) bool {
		function := tool
		if own := conversation.Member(l.tools, tool, "function"); conversation.IsObject(l.tools, own) {
			function = own
		}
		text, _ := conversation.Decode(l.tools, conversation.Member(l.tools, function, "name"))
		if string(text) != name {
			return true
		}
		f(tool, function)
		return false
	})
}

// An acknowledgement has few bytes and few members.
const maxAcknowledgement = 200

// acknowledges reports whether a result is what a tool says that has done something: nothing, a
// word, or an object with hardly more than its state. One that brings data is none.
func acknowledges(result string) bool {
	text := []byte(strings.TrimSpace(result))
	if len(text) > maxAcknowledgement || len(text) > 0 && text[0] == '[' {
		return false
	}
	if len(text) == 0 || text[0] != '{' {
		return true
	}
	object, ok := wire.Value(text, 0)
	if !ok || object.End != len(text) {
		return true
	}
	says := false
	conversation.Members(text, object, func(key []byte, v wire.Span) bool {
		switch strings.ToLower(string(key)) {
		case "ok", "success", "message", "done", "id", "created", "updated", "deleted", "saved", "cancelled", "sent":
			says = true
		case "status", "result", "state", "statut", "estado", "stato":
			value, _ := conversation.Decode(text, v)
			says = says || done[strings.ToLower(string(value))]
		}
		return true
	})
	return says
}

// done are the states of what was just done.
var done = words(`ok success successful succeeded done complete completed confirmed accepted created updated deleted cancelled
	canceled queued sent saved scheduled booked active true erledigt`)
