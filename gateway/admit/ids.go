package admit

import (
	"math/rand/v2"
	"strconv"
)

// ids are the id of a lease, of 130 random bits, and those of the rows of its answers. They are no secret, and
// math/rand's generator is one for secrets all the same, without a call of the system.
type ids struct{ id, first string }

const idLetters = 26

func newIDs() ids {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var text [idLetters + len("-1")]byte
	for at := 0; at < idLetters; {
		for bits, n := rand.Uint64(), 0; n < 12 && at < idLetters; n++ { //nolint:gosec // it is no secret
			text[at] = letters[bits%32]
			at, bits = at+1, bits/32
		}
	}
	copy(text[idLetters:], "-1")
	first := string(text[:]) // mostly there is no other row
	return ids{first[:idLetters], first}
}

// row is the id of a row, from 1 on.
func (i *ids) row(n int) string {
	if n == 1 {
		return i.first
	}
	return i.id + "-" + strconv.Itoa(n)
}
