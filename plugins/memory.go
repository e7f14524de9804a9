package plugins

import (
	"bytes"
	"errors"

	"github.com/tetratelabs/wazero/experimental"
)

// smallImage is the size up to which copying all of an image is cheaper than the
// page faults that follow from mapping it.
const smallImage = 256 << 10

// image is the memory that the instances of a module begin with.
type image struct {
	size  int
	bytes []byte       // to be copied, or
	pages *sharedPages // to be mapped
}

func newImage(b []byte) *image {
	im := &image{size: len(b)}
	if len(b) > smallImage {
		if pages, err := newSharedPages(b); err == nil {
			im.pages = pages
			return im
		}
	}
	im.bytes = bytes.Clone(b)
	return im
}

func (im *image) close() {
	if im != nil && im.pages != nil {
		im.pages.close()
	}
}

// memory is the linear memory of an instance. It is bounded here and not by the
// runtime, so that the host knows when a guest was refused.
type memory struct {
	buf     []byte // its capacity is what is reserved
	limit   uint64
	refused bool // the guest asked for more than the limit
	image   *image
	own     ownPages
}

var _ experimental.LinearMemory = (*memory)(nil)

func newMemory(limit uint64) (*memory, error) {
	buf, err := reserve(int(limit))
	return &memory{buf: buf[:0], limit: limit}, err
}

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if size > uint64(cap(m.buf)) { // never if it was reserved
		grown := make([]byte, size, min(max(size, 2*uint64(len(m.buf))), m.limit))
		copy(grown, m.buf)
		m.buf = grown
	}
	m.buf = m.buf[:size]
	return m.buf
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() {
	release(m.buf)
	m.buf = nil
}

// begin notes that a response begins, which changes the memory from now on.
func (m *memory) begin() { m.own.begin() }

// attach makes the memory, which has the size of the image, begin with it.
func (m *memory) attach(im *image) error {
	m.image = im
	if im.pages != nil {
		return im.pages.mapOver(m.buf)
	}
	copy(m.buf, im.bytes)
	return nil
}

var errGrown = errors.New("the memory has grown")

// reset takes the memory back to the image. Memory that has grown cannot shrink.
func (m *memory) reset() error {
	m.refused = false
	if len(m.buf) != m.image.size {
		return errGrown
	}
	if m.image.pages != nil {
		return m.image.pages.undo(m.buf, &m.own)
	}
	copy(m.buf, m.image.bytes)
	return nil
}
