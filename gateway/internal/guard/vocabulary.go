package guard

import (
	"slices"
	"strings"
)

// role says what a word does in a sentence. A word may have several.
type role uint64

// The roles that a lexicon's lines name; README.md of the folder explains them.
const (
	common role = 1 << iota
	frame
	passive
	adverb
	and
	finished
	promise
	waiting
	negation
	hypothetical
	other
	earlier
	question
	refusal
	failure
	hedge
	fresh
	self
	closing
	harmless
	content
	inquiry
	forbid
	veto
	relative
	article
	assent
	composing
	participle
	done
	doing
	ask
	object
	stated
	guide
	reference
	opener
	own
	telling
)

// verbal are the roles of words that stand for an action.
const verbal = participle | done | doing | ask

var roleNames = map[string]role{
	"common": common, "frame": frame, "passive": passive, "adverb": adverb, "and": and, "finished": finished,
	"promise": promise, "waiting": waiting, "negation": negation, "hypothetical": hypothetical, "other": other,
	"earlier": earlier, "question": question, "refusal": refusal, "failure": failure, "hedge": hedge, "fresh": fresh, "self": self,
	"closing": closing, "harmless": harmless, "content": content, "inquiry": inquiry, "forbid": forbid, "veto": veto, "relative": relative, "article": article,
	"assent": assent, "composing": composing,
	"participle": participle, "done": done, "doing": doing, "ask": ask, "object": object, "state": stated, "guide": guide, "reference": reference, "opener": opener, "own": own, "telling": telling,
}

// actions is a set of the things that tools do.
type actions uint16

const (
	deletes actions = 1 << iota
	creates
	sends
	updates
	writes
	finds
	runs
	pays
	// anything is a tool that can do whatever it is told, such as a shell, or one whose
	// name does not say what it does.
	anything
)

// changes are the actions that leave something changed behind.
const changes = deletes | creates | sends | updates | writes | runs | pays

// making are the actions that many tools do under each other's names: a file is created
// by writing it, an event is booked, an order is placed and paid.
const making = creates | sends | updates | writes | runs | pays

var actionNames = map[string]actions{
	"delete": deletes, "create": creates, "send": sends, "update": updates, "write": writes,
	"find": finds, "run": runs, "pay": pays, "any": anything,
}

// shaping are those of them that pass for each other without a word.
const shaping = creates | updates | writes

// bothMake reports whether two sets have such an action each: then one may pass for the other.
func bothMake(a, b actions) bool { return a&making != 0 && b&making != 0 }

// fileThing is what the name of a file is about.
var fileThing = things{known: 1 << slices.Index(thingNames, "file")}

// thingsOf returns the things of some names.
func thingsOf(names ...string) (t things) {
	for _, name := range names {
		t.known |= 1 << slices.Index(thingNames, name)
	}
	return t
}

// thingNames are the kinds of things that tools are about, in the order of their bits.
var thingNames = strings.Fields(`task event reminder alarm email message file ticket order booking payment
	account user contact weather light climate device database server stock package leave list
	product place report`)

// things is a set of kinds: those of the lexicons, and the words in the names of this
// request's tools that the lexicons do not know.
type things struct{ known, local uint64 }

func (t things) or(u things) things  { return things{t.known | u.known, t.local | u.local} }
func (t things) meets(u things) bool { return t.known&u.known != 0 || t.local&u.local != 0 }
func (t things) without(u things) things {
	return things{t.known &^ u.known, t.local &^ u.local}
}
func (t things) none() bool { return t == things{} }

// deed is what is done, or wanted, or claimed: the kind of it, the verbs in the names of this request's tools
// that say so, as bits, and what it is done to.
type deed struct {
	actions actions
	verbs   uint64
	things  things
}

func (d deed) or(e deed) deed {
	return deed{d.actions | e.actions, d.verbs | e.verbs, d.things.or(e.things)}
}

// meaning is what a word is in one language.
type meaning struct {
	language int
	roles    role
	deed
	named bool // it is the name of a file, an address or a link, of no lexicon
}

func (m *meaning) is(r role) bool { return m.roles&r != 0 }

// and is the meaning of a word that has two.
func (m *meaning) and(n *meaning) meaning {
	return meaning{m.language, m.roles | n.roles, m.or(n.deed), m.named || n.named}
}
