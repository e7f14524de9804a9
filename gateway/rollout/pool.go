package rollout

import (
	"context"
	"sync"
)

// Pool does work beside the requests of clients: so much at once, and no more waits than it has room
// for. What finds no room is dropped and counted. It is safe for concurrent use.
type Pool struct {
	jobs   chan job
	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelFunc
	done   sync.WaitGroup
	o      PoolOptions

	mu     sync.Mutex
	held   int64 // bytes of jobs that wait or run
	closed bool
	stats  PoolStats
}

type job struct {
	bytes int64
	do    func(context.Context)
}

// PoolStats are how many jobs were taken and dropped so far.
type PoolStats struct {
	Taken   int64 `json:"taken"`
	Dropped int64 `json:"dropped"`
}

// PoolOptions bound a Pool.
type PoolOptions struct {
	// Workers is how much is done at once, at least one, and Waiting how many jobs wait at most.
	Workers, Waiting int
	// Bytes is what all jobs may hold together.
	Bytes int64
	// Panicked is told of a job that panicked, which ends that job alone; nil has the panic go on.
	Panicked func(value any)
}

// NewPool begins the workers of a pool, which Close ends.
func NewPool(o PoolOptions) *Pool {
	p := &Pool{jobs: make(chan job, max(o.Waiting, 0)), o: o}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for range max(o.Workers, 1) {
		p.done.Go(p.work)
	}
	return p
}

func (p *Pool) work() {
	for j := range p.jobs {
		p.run(j)
	}
}

func (p *Pool) run(j job) {
	defer func() {
		p.mu.Lock()
		p.held -= j.bytes
		p.mu.Unlock()
		if p.o.Panicked != nil {
			if value := recover(); value != nil {
				p.o.Panicked(value)
			}
		}
	}()
	if p.ctx.Err() == nil {
		j.do(p.ctx)
	}
}

// Offer has a job done that holds so many bytes, and reports whether there is room for it. It never
// waits. The job's context ends with the Pool.
func (p *Pool) Offer(bytes int64, do func(context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && p.held+bytes <= p.o.Bytes {
		select {
		case p.jobs <- job{bytes, do}:
			p.held += bytes
			p.stats.Taken++
			return true
		default:
		}
	}
	p.stats.Dropped++
	return false
}

// Drop counts a job that was never offered, since there was no room for what it takes elsewhere.
func (p *Pool) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Dropped++
}

// Stats returns the counts so far; those of no Pool are 0.
func (p *Pool) Stats() PoolStats {
	if p == nil {
		return PoolStats{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Close ends the jobs that run, forgets those that wait, and returns when no worker is left.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	p.cancel()
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.jobs)
	}
	p.mu.Unlock()
	p.done.Wait()
}
