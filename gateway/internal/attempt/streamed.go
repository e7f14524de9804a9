package attempt

import (
	"io"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// streamed gives a whole answer as a stream, to a client that asked for one where the
// provider had better not, or where the upstream did not care. What is in the answer stays,
// but for its shape.
type streamed struct {
	gateway.Reply
	usage  bool // the client wants it
	frames []wire.Frame
	begun  bool
	header http.Header
}

func stream(r gateway.Reply, req *gateway.Request) *streamed {
	h := r.Header().Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "text/event-stream")
	return &streamed{Reply: r, usage: req.Reading.WantsUsage(), header: h}
}

func (s *streamed) Header() http.Header { return s.header }

func (s *streamed) Streamed() bool { return true }

func (s *streamed) Next() (*wire.Frame, error) {
	if !s.begun {
		s.begun = true
		f, err := s.Reply.Next()
		if err != nil {
			return nil, err
		}
		f.Whole = true
		s.frames = wire.Chunks(f, s.usage)
	}
	if len(s.frames) == 0 {
		return nil, io.EOF
	}
	f := &s.frames[0]
	s.frames = s.frames[1:]
	return f, nil
}

func (s *streamed) Warnings() []string {
	if w, ok := s.Reply.(gateway.Warner); ok {
		return w.Warnings()
	}
	return nil
}
