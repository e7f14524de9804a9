package httpapi

import (
	"net"
	"sync"
)

// pipes is a listener whose connections are in memory, so that in a bubble of synctest the
// clock goes on when all wait for them.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// onPipes serves in memory until the function that it returns is called.
func onPipes(s *Server) (p *pipes, stop func()) {
	p = &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := s.HTTP()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(s.Listener(p))
	}()
	return p, func() {
		server.Close()
		<-ended
	}
}

// dial opens a connection.
func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }
