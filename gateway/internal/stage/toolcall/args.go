package toolcall

import (
	"bytes"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// maxDepth is how deep arguments may nest.
const maxDepth = 128

// arguments are those of one call, as they came and as they go out.
type arguments struct {
	in      repair.Args
	begun   bool
	out     []byte
	waiting []byte // came before they have begun
	half    []byte // of a surrogate pair, at the end of those so far
	// came and went are how long they were before the frames at hand.
	came, went int
}

// whole is a piece with the half of a surrogate pair that the one before ended in, and without
// the one that it ends in itself. joined reports that a pair came in two pieces.
func (a *arguments) whole(piece []byte) (_ []byte, joined bool) {
	if len(a.half) > 0 && len(piece) > 0 {
		joined = wire.HalfAt(piece) != 0
		piece, a.half = wire.JoinHalves(a.half, piece), nil
	}
	if wire.EndsInHalf(piece) {
		at := len(piece) - wire.HalfSize
		piece, a.half = piece[:at], bytes.Clone(piece[at:])
	}
	return piece, joined
}

// begin makes them ready for a tool, nil if it is not known: it decides about their types.
func (a *arguments) begin(tool *abi.Tool) {
	a.begun = true
	a.in.Begin(tool, maxDepth)
	a.feed(a.waiting)
	a.waiting = nil
}

// feed reads a piece.
func (a *arguments) feed(piece []byte) { a.out = append(a.out, a.in.Feed(piece)...) }

// holding reports whether something has come that has not gone out.
func (a *arguments) holding() bool {
	return len(a.waiting) > 0 || len(a.half) > 0 || a.in.Holding()
}

// same reports whether those of the frames at hand go out as they came; where the answer is
// cut, as far as they go out.
func (a *arguments) same(cut bool) bool {
	came, went := a.in.Raw()[a.came:], a.out[a.went:]
	if cut {
		return bytes.HasPrefix(came, went)
	}
	return bytes.Equal(came, went)
}

// settle forgets the frames at hand.
func (a *arguments) settle() { a.came, a.went = len(a.in.Raw()), len(a.out) }

// unsent are those that have not gone out, as they came, where further objects follow the
// first. Where that was mended they are the objects alone.
func (a *arguments) unsent(extra [][]byte) []byte {
	if raw := a.in.Raw(); bytes.HasPrefix(raw, a.out) {
		return raw[len(a.out):]
	}
	return bytes.Join(extra, nil)
}
