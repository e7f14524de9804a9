package limit

// cells are where the numbers of a place are in a Memory: they are looked up once, and not by their names for each
// request. The lock is that of the Memory.
type cells struct {
	memory *Memory
	sweeps uint64 // of the Memory; a sweep forgets some
	list   []cell // by limit
}

// cell is where the numbers of one limit are: one of three, or none as long as there are none.
type cell struct {
	bucket  *bucket
	running *running
	budget  *budget
}

// cells are those of a place.
func (m *Memory) cells(s *Set, p *place) []cell {
	c := p.cells.Load()
	if c == nil || c.memory != m || c.sweeps != m.sweeps {
		c = &cells{m, m.sweeps, make([]cell, len(s.limits))}
		p.cells.Store(c)
	}
	return c.list
}

// find looks for the numbers of a limit, which may be there for another set.
func (m *Memory) find(c *cell, key string, kind Kind) {
	if *c != (cell{}) {
		return
	}
	switch {
	case kind.IsRate():
		c.bucket = m.buckets[key]
	case kind == Concurrency:
		c.running = m.running[key]
	default:
		c.budget = m.budgets[key]
	}
}
