package attempt

import (
	"context"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Pipeline is the stages that the frames of one answer pass. It is used by one
// goroutine.
type Pipeline struct {
	links  []link
	out    func(*wire.Frame)
	rest   func() // reads what is wanted of an answer that a stage has ended; nil for nothing
	failed int    // the stage that has ended the answer, -1 if none has
	err    error  // its error
}

// link is a stage in its place. It takes what the stage lets through.
type link struct {
	stage    gateway.Stage
	pipeline *Pipeline
	place    int
	ended    bool
}

// NewPipeline makes the stages for an answer, and gives what comes out to out.
func NewPipeline(ctx context.Context, makers []gateway.Maker, a *gateway.AttemptInfo, o *gateway.Outcome, out func(*wire.Frame)) (*Pipeline, error) {
	p := &Pipeline{out: out, failed: -1, links: make([]link, 0, len(makers))}
	for _, m := range makers {
		s, err := m.Begin(ctx, a, o)
		if err != nil {
			_ = p.End(err)
			return nil, err
		}
		if s != nil {
			p.links = append(p.links, link{stage: s, pipeline: p, place: len(p.links)})
		}
	}
	return p, nil
}

// Frame gives a frame to the first stage. An error is that of a stage: the answer has ended,
// and all stages know.
func (p *Pipeline) Frame(f *wire.Frame) error {
	p.put(0, f)
	if p.err != nil {
		if p.rest != nil {
			p.rest()
		}
		_ = p.End(p.err)
	}
	return p.err
}

// End tells the stages that there are no more frames, and why; each of them once, however
// often it is called. The error is that of a stage, if one has failed.
func (p *Pipeline) End(cause error) error {
	for i := range p.links {
		l := &p.links[i]
		if l.ended {
			continue
		}
		l.ended = true
		if p.err != nil { // what was complete is not any more
			cause = p.err
		}
		if err := l.stage.End(cause, l); err != nil {
			p.fail(i, err)
		}
	}
	return p.err
}

// put gives a frame to the stage at a place, or out. Of the stage that has failed, and of
// those in front of it, nothing is taken any more.
func (p *Pipeline) put(place int, f *wire.Frame) {
	switch {
	case p.failed >= 0 && place <= p.failed+1:
		f.Free()
	case place == len(p.links):
		p.out(f)
	default:
		l := &p.links[place]
		if err := l.stage.Frame(f, l); err != nil {
			p.fail(place, err)
		}
	}
}

// Put implements gateway.Sink for the stage of the link.
func (l *link) Put(f *wire.Frame) { l.pipeline.put(l.place+1, f) }

// fail notes that the stage at a place has ended the answer. Only the first one counts.
func (p *Pipeline) fail(place int, err error) {
	if p.err == nil {
		p.failed, p.err = place, err
	}
}
