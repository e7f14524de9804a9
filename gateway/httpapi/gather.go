package httpapi

import (
	"context"
	"sync"
)

// net/http writes a piece of an answer in several writes if it is longer than its own buffers: what
// 4 KiB hold, the rest, and the line end behind a chunk. Each is a call of the system and wakes the
// client. So what is written while a connection gathers leaves at once.

const (
	gatherFrom = 2 << 10  // a shorter piece leaves in one write anyway
	gatherRoom = 24 << 10 // a longest piece of a stream, with the answer's header in front of it
)

// gatherBuffers are [gatherRoom] long.
var gatherBuffers = sync.Pool{New: func() any { return new([gatherRoom]byte) }}

type connectionKey struct{}

// connectionOf is the connection that a request came on, nil where that is none of ours, as in tests.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// gather has writes wait until release, as long as there is room for them. size is how many bytes of
// an answer are about to be written: few need nothing, and of many a copy costs more than it saves.
// It may be called for nil.
func (c *connection) gather(size int) {
	if c == nil || size < gatherFrom || size > maxPiece+gatherFrom {
		return
	}
	c.out.Lock()
	defer c.out.Unlock()
	c.buffer = gatherBuffers.Get().(*[gatherRoom]byte)
}

// release writes what has waited. It may be called for nil, and without gather.
func (c *connection) release() error {
	if c == nil {
		return nil
	}
	c.out.Lock()
	defer c.out.Unlock()
	if c.buffer == nil {
		return nil
	}
	err := c.flush()
	gatherBuffers.Put(c.buffer)
	c.buffer = nil
	return err
}

// flush writes what waits. c.out is held.
func (c *connection) flush() error {
	if c.buffered == 0 {
		return nil
	}
	_, err := c.stall.write(c.Conn, c.buffer[:c.buffered])
	c.buffered = 0
	return err
}

// Write implements net.Conn. A write that waits fails in release.
func (c *connection) Write(p []byte) (int, error) {
	if string(p) == goTooLarge {
		_, err := c.stall.write(c.Conn, []byte(headerTooLarge))
		return len(p), err
	}
	c.out.Lock()
	defer c.out.Unlock()
	switch {
	case c.buffer == nil:
		return c.stall.write(c.Conn, p)
	case c.buffered+len(p) > gatherRoom:
		if err := c.flush(); err != nil {
			return 0, err
		}
		return c.stall.write(c.Conn, p)
	}
	c.buffered += copy(c.buffer[c.buffered:], p)
	return len(p), nil
}
