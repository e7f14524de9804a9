package billing

import "time"

// Noted begins an answer until the journal has its note: a disk that is slow for a moment takes none, and the tests
// that come to a kill afterwards are not about that.
func Noted(b *Book, r Row) {
	for failed := ^uint64(0); failed != b.Stats().JournalErrors; time.Sleep(time.Millisecond) {
		failed = b.Stats().JournalErrors
		b.Begin(r)
	}
}

// Safe returns once the journal has all that was recorded before, also what Record did not wait for: the note of an
// answer is written with it, or later.
func Safe(b *Book) {
	r := Row{ID: "safe", Time: time.Now()}
	Noted(b, r)
	b.Forget(r.ID)
}
