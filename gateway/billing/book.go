package billing

// Book takes rows and sees to it that they come into the ledger. The gateway has one, from its start
// to its end. It may be used by many goroutines; a nil Book takes nothing.
type Book struct{}

// Record hands a row over. It returns once the row outlives the process, or after a tenth of a second:
// then it is still on its way, or counted and logged as dropped. An answer of an upstream has one row,
// whose ID is its own: a row that is recorded twice counts once.
func (b *Book) Record(Row) {}
