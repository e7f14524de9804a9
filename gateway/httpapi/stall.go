package httpapi

import (
	"io"
	"net/http"
	"time"
)

// stallLimit is how long a client may take no byte of its answer, or send none of its
// body. It may be slow for as long as it likes.
const stallLimit = 60 * time.Second

// pacer ends a connection on which a read or a write makes no progress.
type pacer struct {
	conn  *http.ResponseController
	limit time.Duration
	wrote time.Time // when the deadline of writes was last set
	body  io.Reader
}

// Read reads the request's body.
func (p *pacer) Read(b []byte) (int, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(p.limit)) // a writer without deadlines is a test's
	return p.body.Read(b)
}

// read says that the body was read, so that the connection may rest.
func (p *pacer) read() { _ = p.conn.SetReadDeadline(time.Time{}) }

// write is called before a write. It sets the deadline anew when a quarter of it is
// over, which spares most chunks of a stream the cost.
func (p *pacer) write() {
	if now := time.Now(); now.Sub(p.wrote) > p.limit/4 {
		p.wrote = now
		_ = p.conn.SetWriteDeadline(now.Add(p.limit))
	}
}

// mayRest says that an answer was written, so that its connection may serve another.
func mayRest(w http.ResponseWriter) { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }

func (s *Server) newPacer(w http.ResponseWriter) *pacer {
	return &pacer{conn: http.NewResponseController(w), limit: s.stall}
}
