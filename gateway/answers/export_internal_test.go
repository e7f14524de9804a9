package answers

// Len is how many flights there are.
func (fs *Flights) Len() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.flights)
}
