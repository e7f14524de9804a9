package admit

import (
	"strconv"

	"github.com/callgate/callgate/internal/randtext"
)

// ids are the id of a lease, of 130 random bits, and those of the rows of its answers.
type ids struct{ id, first string }

const idLetters = 26

func newIDs() ids {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var room [idLetters + len("-1")]byte
	first := string(append(randtext.Append(room[:0], letters, idLetters), "-1"...)) // mostly there is no other row
	return ids{first[:idLetters], first}
}

// row is the id of a row, from 1 on.
func (i *ids) row(n int) string {
	if n == 1 {
		return i.first
	}
	return i.id + "-" + strconv.Itoa(n)
}
