// Package upload keeps a request's body until its upstream is known, in memory or, what is
// long, in a file without a name, and finds the field of a form that names the model.
package upload

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/callgate/callgate/gateway/inflight"
)

// memory is how many bytes of a body are kept in memory.
const memory = 1 << 20

// ErrTooLarge is the error of a body that is longer than its limit.
var ErrTooLarge = errors.New("the body is too large")

// Room is what bodies take. Claims may be nil; they are closed with the Body.
type Room struct{ Memory, Files *inflight.Claim }

func (r Room) close() {
	r.Memory.Close()
	r.Files.Close()
}

// claiming reads what there is room for.
type claiming struct {
	io.Reader
	room   *inflight.Claim
	factor int64
}

func (c claiming) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if full := c.room.Grow(c.factor * int64(n)); full != nil {
		return 0, full
	}
	return n, err
}

// Body is a request's body. It is read by one goroutine at a time, and must be closed.
type Body struct {
	head []byte
	file *os.File // what follows head, nil if nothing does
	size int64
	room Room
}

// Read reads a body of at most limit bytes, and claims room for it as it comes. What refuses
// that is an error of package inflight.
func Read(r io.Reader, limit int64, room Room) (*Body, error) {
	const doubled = 2 // what a buffer has that grows
	var head bytes.Buffer
	n, err := io.Copy(&head, claiming{io.LimitReader(r, min(memory, limit+1)), room.Memory, doubled})
	if err != nil {
		room.close()
		return nil, err
	}
	b := &Body{head: head.Bytes(), size: n, room: room}
	if n < memory && n <= limit {
		return b, nil
	}
	if n <= limit {
		if b.file, err = os.CreateTemp("", "callgate-upload-*"); err != nil {
			room.close()
			return nil, err
		}
		_ = os.Remove(b.file.Name()) // where that is possible: nothing stays if the process dies
		var more int64
		more, err = io.Copy(b.file, claiming{io.LimitReader(r, limit+1-n), room.Files, 1})
		b.size += more
	}
	if err == nil && b.size > limit {
		err = ErrTooLarge
	}
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// Size is how many bytes the body has.
func (b *Body) Size() int64 { return b.size }

// Close gives the memory and the file back.
func (b *Body) Close() error {
	b.head = nil
	b.room.close()
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	_ = os.Remove(b.file.Name()) // it is there where open files cannot be removed
	b.file = nil
	return err
}

// ReadAt implements io.ReaderAt.
func (b *Body) ReadAt(p []byte, at int64) (n int, err error) {
	if at < int64(len(b.head)) {
		n = copy(p, b.head[at:])
	}
	if n == len(p) {
		return n, nil
	}
	if b.file == nil {
		return n, io.EOF
	}
	more, err := b.file.ReadAt(p[n:], at+int64(n)-int64(len(b.head)))
	return n + more, err
}

// Span is a part of a body, from Start to before End.
type Span struct{ Start, End int64 }

// Open is the body with other bytes in the place of a span, and its size.
func (b *Body) Open(at Span, with []byte) (io.Reader, int64) {
	return io.MultiReader(
		io.NewSectionReader(b, 0, at.Start), bytes.NewReader(slices.Clone(with)), io.NewSectionReader(b, at.End, b.size-at.End),
	), b.size - (at.End - at.Start) + int64(len(with))
}
