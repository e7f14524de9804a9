package wire

import (
	"bytes"
	"fmt"
	"io"
)

const (
	// DefaultMaxBlock is the limit on a block in bytes, if NewReader is given none.
	DefaultMaxBlock = 16 << 20

	firstBuffer = 4 << 10  // enough for one small block at a time, as most streams come
	bufferSize  = 16 << 10 // for a stream that comes faster than it is read
	bufferKept  = 1 << 20  // a larger buffer is given up once it is empty
	readMin     = 1 << 10  // room that a read should have
	maxEmpty    = 100      // reads in a row that may give nothing
)

// bom is the byte order mark that a stream may begin with.
const bom = "\xEF\xBB\xBF"

// Block is one block of a stream. Its slices are valid until the next call of
// Next.
type Block struct {
	// Raw is the block as it came, with the blank line that ends it.
	Raw []byte
	// Data is the value of its data field, several of them joined by LF. It is nil
	// if the block has no such field, and part of Raw if it has one.
	Data []byte
	// Cut says that the stream ended, without an error, before the blank line. A
	// browser would drop such a block. It is given out because servers exist that
	// save the last line end; whether its data is whole is for the caller to see.
	Cut bool
}

// TooLongError says that a block is longer than the reader may keep.
type TooLongError struct {
	Limit int // in bytes
}

// Error implements error.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("a block is longer than %d bytes", e.Limit)
}

// Reader reads the blocks of a stream of server-sent events, and keeps every byte of it:
// joined, the Raw parts of all blocks are the stream. A block is what the blank line
// behind it ends, an event or only a comment. All line ends of the specification are
// read, LF, CRLF and CR, also mixed, and a byte order mark at the stream's start.
//
// It allocates only for its buffer, which grows with the stream's largest block. It is
// used by one goroutine.
type Reader struct {
	src io.Reader
	max int
	err error // of src; what came before it is given out first
	eof bool  // err is io.EOF itself: the stream ended as a stream should

	buf        []byte
	start, end int    // buf[start:end] came and has not been given out
	joined     []byte // the data of a block with several data fields

	scan scan
}

// NewReader returns a Reader of r. A block of more than maxBlock bytes, 0 for
// DefaultMaxBlock, is a *TooLongError.
func NewReader(r io.Reader, maxBlock int) *Reader {
	if maxBlock <= 0 {
		maxBlock = DefaultMaxBlock
	}
	return &Reader{src: r, max: maxBlock, buf: make([]byte, min(firstBuffer, maxBlock)), scan: scan{first: true}}
}

// Next returns the next block, and io.EOF after the last. When reading fails it
// returns the error, after the blocks that are complete; a part of a block is
// dropped, since nobody can tell where its data would have ended.
func (r *Reader) Next() (Block, error) {
	for {
		if n := r.scan.block(r.buf[r.start:r.end], r.eof); n > 0 {
			return r.take(n, false), nil
		}
		if r.eof && r.start < r.end {
			r.scan.lastLine(r.buf[r.start:r.end])
			return r.take(r.end-r.start, true), nil
		}
		if r.err != nil {
			return Block{}, r.err
		}
		if err := r.fill(); err != nil {
			return Block{}, err
		}
	}
}

// Buffered says whether a whole further block is already here, so that Next will
// not read.
func (r *Reader) Buffered() bool {
	return r.scan.block(r.buf[r.start:r.end], r.eof) > 0
}

// take gives out the first n bytes.
func (r *Reader) take(n int, cut bool) Block {
	b := Block{Raw: r.buf[r.start : r.start+n : r.start+n], Cut: cut}
	switch s := &r.scan; {
	case s.fields == 1:
		b.Data = b.Raw[s.data : s.data+s.dataLen : s.data+s.dataLen]
	case s.fields > 1:
		r.joined = s.join(r.joined[:0], b.Raw)
		b.Data = r.joined
	}
	r.start += n
	r.scan.next(n)
	return b
}

// fill reads once, after it has made room.
func (r *Reader) fill() error {
	if err := r.room(); err != nil {
		return err
	}
	for range maxEmpty {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err, r.eof = err, err == io.EOF
		if n > 0 || r.err != nil {
			return nil //nolint:nilerr // r.err is reported when all that was read is given out
		}
	}
	return io.ErrNoProgress
}

// room makes room for a read. Nothing that was given out is still in use, so the
// rest may move to the front; only a block that fills the buffer makes it grow.
func (r *Reader) room() error {
	if r.start == r.end {
		full := r.end == len(r.buf)
		r.start, r.end = 0, 0
		if len(r.buf) > bufferKept || full && len(r.buf) < min(bufferSize, r.max) {
			r.buf = make([]byte, min(bufferSize, r.max))
		}
		if cap(r.joined) > bufferKept {
			r.joined = nil
		}
	}
	if r.start > 0 && len(r.buf)-r.end < readMin {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end < len(r.buf) {
		return nil
	}
	if r.end >= r.max {
		return &TooLongError{Limit: r.max}
	}
	grown := make([]byte, min(2*len(r.buf), r.max))
	copy(grown, r.buf[:r.end])
	r.buf = grown
	return nil
}

// join appends the values of all data fields in raw to dst.
func (s *scan) join(dst, raw []byte) []byte {
	value, rest := cutLine(raw[s.data:])
	dst = append(dst, value...)
	for len(rest) > 0 {
		value, rest = cutLine(rest)
		if skip, ok := dataField(value); ok {
			dst = append(append(dst, '\n'), value[skip:]...)
		}
	}
	return dst
}

// cutLine splits b behind its first line, whose line end belongs to neither part.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return b, nil
	case bytes.HasPrefix(b[i:], []byte("\r\n")):
		return b[:i], b[i+2:]
	}
	return b[:i], b[i+1:]
}
