package guard

// heldText is how many bytes of an answer are held back at most while nothing in them
// says that it will be a ghost. Claims stand at the beginning: of the ghosts of the
// corpus that are found at all, 143 of 144 claim within as much.
const heldText = 400

// stream is what is known of an answer on its way.
type stream struct{ decided, hold bool }

// Undecided reports whether the text so far must still be held back from the client, for
// a gateway that asks again instead of letting a ghost through. It is called after each
// piece of a stream, with all of the answer so far. What was let go once is not held
// again, though Judge may still find the whole answer a ghost.
//
// The work is bounded: the text is read once, when it has grown to some 400 bytes.
func (k *Case) Undecided(a Answer) bool {
	switch {
	case a.Done || k.demand.isIdle():
		return false
	case k.stream.decided:
		return k.stream.hold && len(a.Calls) == 0
	case k.demand.isMissing(a.Calls):
		return true
	case len(a.Calls) > 0:
		k.stream = stream{decided: true}
		return false
	case len(k.demand.unmet) > 0 || len(a.Text) < heldText:
		return true
	}
	v := k.Judge(a)
	k.stream = stream{decided: true, hold: v.Score >= k.guard.threshold || v.Contradiction}
	return k.stream.hold
}
