package repair

// joint puts two pieces of output together, in memory that it keeps.
type joint struct{ memory []byte }

// of is both pieces, behind one another. It is valid until the next call, and may be one of them.
func (j *joint) of(head, tail []byte) []byte {
	switch {
	case len(tail) == 0:
		return head
	case len(head) == 0:
		return tail
	}
	j.memory = append(append(j.memory[:0], head...), tail...)
	return j.memory
}
