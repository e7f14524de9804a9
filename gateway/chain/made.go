package chain

import (
	"hash/maphash"
	"slices"

	"github.com/callgate/callgate/sdk/abi"
)

// maxMade is how many calls of an answer are remembered.
const maxMade = 256

// made is the calls of an answer. A model whose reasoning begins in the prompt may call in it and once more
// behind its end, which is the first sign that there was any: those calls are out by then, and each must not
// be made twice.
type made struct {
	sum   maphash.Hash // of the call at hand
	calls []uint64     // what those in front say
	again bool         // the reasoning has ended behind calls
	held  []abi.Event  // the call at hand, until it is known whether it is one of them
}

// verdict is what becomes of an event of a call.
type verdict uint8

const (
	goesOn verdict = iota
	isHeld
	isOver  // the call that is held goes on
	isTwice // it was made before
)

// read takes the next event of a call.
func (m *made) read(e *abi.Event) verdict {
	switch e.Kind {
	case abi.CallStart:
		m.sum.Reset()
		_, _ = m.sum.WriteString(e.Name)
		_ = m.sum.WriteByte(0)
	case abi.Args:
		_, _ = m.sum.WriteString(e.Text)
	case abi.CallEnd:
		return m.end(m.sum.Sum64())
	case abi.Cut:
		if len(m.held) > 0 {
			return isOver
		}
	}
	if m.again && (e.Kind == abi.CallStart || len(m.held) > 0) {
		m.held = append(m.held, *e)
		return isHeld
	}
	return goesOn
}

// end decides about a call that is complete.
func (m *made) end(call uint64) verdict {
	i := slices.Index(m.calls, call)
	switch {
	case !m.again && len(m.calls) < maxMade:
		m.calls = append(m.calls, call)
		return goesOn
	case !m.again:
		return goesOn
	case i < 0:
		return isOver
	}
	m.calls = slices.Delete(m.calls, i, i+1) // which may have come twice in front
	m.held = m.held[:0]
	return isTwice
}

// take takes out what is held.
func (m *made) take() []abi.Event {
	held := m.held
	m.held = nil
	return held
}
