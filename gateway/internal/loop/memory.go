package loop

import (
	"bytes"
	"hash/maphash"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// memory knows the results so far, and which calls gave them. It holds hashes, with
// a seed of its own: nobody can make two texts that share one, and by chance it
// happens to one pair in 2^64.
type memory struct {
	conversation *conversation.Conversation
	exchanges    []ledger.Call
	seed         maphash.Seed
	sayings      map[saying]int // by whom it was said, or several
	answers      map[answer]struct{}
	scratch      []byte
}

// saying is a result that a tool gave, to whatever arguments.
type saying struct{ tool, result uint64 }

// several stands for more than one exchange. Their arguments are in the answers then:
// they are put in canonical form only when a tool says the same a second time, which
// is rare where there is progress.
const several = -1

// answer is a result that a tool gave to some arguments.
type answer struct {
	saying
	arguments uint64
}

func newMemory(l *ledger.Ledger, exchanges []ledger.Call) *memory {
	return &memory{
		conversation: l.Conversation, exchanges: exchanges, seed: maphash.MakeSeed(),
		sayings: make(map[saying]int, len(exchanges)), answers: map[answer]struct{}{},
	}
}

// isNew says whether the exchange at a place brought something new, and takes note of
// it. It is asked in order. These bring nothing:
//
//   - a call without a result, or with an empty list;
//   - a call that gave the same result before;
//   - a call of a tool that reads and gives nothing at all, or only empty lists and
//     counts of 0, in JSON, XML, a table or a sentence;
//   - a call whose result the tool gave before to other arguments, if it is long, or
//     more than a word where the tool reads, or says that something failed or is not
//     there, see toolresult.Missing.
//
// The last two rules spare tools that act. They give nothing ("", null, {}), or the
// same short "ok" to all. Words for success are without number ("Row added.", "1 row
// affected", "queued"), those for failure are not, and so the latter are sought. The
// same long text to other arguments is no acknowledgement, but the same page in
// another way.
func (m *memory) isNew(place int) bool {
	e := &m.exchanges[place]
	if !e.Answered() {
		return false
	}
	text := bytes.TrimSpace(resultText(m.conversation, m.conversation.Messages[e.Result]))
	switch substanceOf(text) {
	case emptyList:
		return false
	case nothing:
		if e.Kind == ledger.Reads {
			return false
		}
	}
	if e.Kind != ledger.Changes && findsNothing(text) || e.Kind == ledger.Reads && holdsNothing(text) {
		return false
	}
	text, failed := withoutEchoes(text, &e.Call)
	said := saying{maphash.String(m.seed, e.Name), maphash.Bytes(m.seed, text)}
	first, known := m.sayings[said]
	switch {
	case !known:
		m.sayings[said] = place
		return true
	case failed || len(text) > maxShort || e.Kind == ledger.Reads && len(text) > maxWord:
		return false
	case first != several:
		m.answers[answer{said, m.argumentsOf(first)}] = struct{}{}
		m.sayings[said] = several
	}
	given := answer{said, m.argumentsOf(place)}
	_, known = m.answers[given]
	m.answers[given] = struct{}{}
	return !known
}

// callsOf returns a hash of some calls, which does not depend on their order.
func (m *memory) callsOf(from, to int) (sum uint64) {
	for i := from; i < to; i++ {
		call := struct{ tool, arguments uint64 }{maphash.String(m.seed, m.exchanges[i].Name), m.argumentsOf(i)}
		sum += maphash.Comparable(m.seed, call)
	}
	return sum
}

func (m *memory) argumentsOf(place int) uint64 {
	arguments := conversation.Canonical(m.scratch[:0], m.exchanges[place].Args())
	m.scratch = arguments
	return maphash.Bytes(m.seed, arguments)
}
