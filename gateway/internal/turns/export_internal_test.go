package turns

// Len is how many answers are remembered.
func (b *Book) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answers.Len()
}
