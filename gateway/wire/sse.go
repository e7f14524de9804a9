package wire

import (
	"bytes"
	"fmt"
	"io"
	"sync"
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

	// Room is told how many bytes the buffers have, before they grow beyond what most streams
	// need and when they shrink again. An error ends the stream. It may be nil.
	Room func(n int) error
}

// NewReader returns a Reader of r. A block of more than maxBlock bytes, 0 for
// DefaultMaxBlock, is a *TooLongError.
func NewReader(r io.Reader, maxBlock int) *Reader {
	if maxBlock <= 0 {
		maxBlock = DefaultMaxBlock
	}
	small := smallBuffers.Get().(*[firstBuffer]byte)
	return &Reader{src: r, max: maxBlock, buf: small[:min(firstBuffer, maxBlock)], scan: scan{first: true}}
}

// The buffers that most streams have are used again.
var (
	smallBuffers = sync.Pool{New: func() any { return new([firstBuffer]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}
)

// Release gives the buffer up to other streams. It may be called once nobody uses a block any more; from
// then on Next returns io.EOF, or the error that it has returned.
func (r *Reader) Release() {
	r.replace(nil)
	r.joined, r.start, r.end, r.scan = nil, 0, 0, scan{}
	if r.err == nil {
		r.err = io.EOF
	}
}

// replace gives the buffer up for another one.
func (r *Reader) replace(buf []byte) {
	switch cap(r.buf) {
	case firstBuffer:
		smallBuffers.Put((*[firstBuffer]byte)(r.buf[:firstBuffer]))
	case bufferSize:
		largeBuffers.Put((*[bufferSize]byte)(r.buf[:bufferSize]))
	}
	r.buf = buf
}

// large is a buffer for a stream that comes faster than it is read.
func (r *Reader) large() []byte {
	return largeBuffers.Get().(*[bufferSize]byte)[:min(bufferSize, r.max)]
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
			if last := r.buf[r.start:r.end]; r.scan.line < len(last) { // it has no line end
				r.scan.readLine(last, len(last))
			}
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
	if len(r.buf) < min(bufferSize, r.max) && r.start > 0 && r.end == len(r.buf) {
		large := r.large()
		r.start, r.end = 0, copy(large, r.buf[r.start:r.end])
		r.replace(large)
		return nil
	}
	if r.start == r.end {
		r.start, r.end = 0, 0
		if len(r.buf) > bufferKept {
			if r.replace(r.large()); r.Room != nil {
				_ = r.Room(0) // it has become less
			}
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
	if r.Room != nil { // the old one and the new one are there together, or later the data of several lines
		if err := r.Room(len(r.buf) + min(2*len(r.buf), r.max)); err != nil {
			return err
		}
	}
	grown := make([]byte, min(2*len(r.buf), r.max))
	copy(grown, r.buf[:r.end])
	r.replace(grown)
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

// scan is how far the block at the front of the buffer has been read. It can go
// on where it stopped when more bytes have come, so that every byte is looked at
// a fixed number of times however the stream is cut. Offsets count from the
// block's first byte.
type scan struct {
	first  bool // the block is the stream's first, so a byte order mark may precede it
	bareCR bool // the line before ended with a CR alone
	skipLF bool // a LF in front of the block is the rest of the line end before it

	length int // of the block, once its end is found
	line   int // where the line begins that is being read
	seen   int // no line end in [line, seen)
	lf     int // no LF in [seen, lf)

	fields        int // data fields so far
	data, dataLen int // the value of the first
}

// block goes on reading and returns the block's length, or 0 if its end is not in
// b. end says that nothing will follow b.
func (s *scan) block(b []byte, end bool) int {
	if s.skipLF && len(b) > 0 {
		s.skipLF = false
		if b[0] == '\n' {
			s.line, s.seen, s.bareCR = 1, 1, false
		}
	}
	for s.length == 0 {
		at, next := s.lineEnd(b, end)
		if at < 0 {
			return 0
		}
		if s.readLine(b, at) {
			s.length = next
		}
		s.line, s.seen = next, next
	}
	return s.length
}

// lineEnd finds the end of the line being read and where the next one begins; at
// is -1 if it is not known yet.
func (s *scan) lineEnd(b []byte, end bool) (at, next int) {
	s.lf = max(s.lf, s.seen)
	if s.lf < len(b) && b[s.lf] != '\n' {
		if i := bytes.IndexByte(b[s.lf:], '\n'); i >= 0 {
			s.lf += i
		} else {
			s.lf = len(b)
		}
	}
	if i := bytes.IndexByte(b[s.seen:s.lf], '\r'); i >= 0 {
		s.seen += i
		return s.crEnd(b, end)
	}
	s.seen = s.lf
	if s.lf == len(b) {
		return -1, 0
	}
	s.bareCR = false
	return s.lf, s.lf + 1
}

// crEnd decides about the CR at seen. A LF may follow it that belongs to it. To
// wait for it would hold back a block of a stream that uses CR alone, so a blank
// line behind a line with a CR alone ends at its own CR, and a LF that follows
// is skipped later.
func (s *scan) crEnd(b []byte, end bool) (at, next int) {
	cr := s.seen
	switch {
	case s.bareCR && cr == s.line:
		s.skipLF = true
	case cr+1 < len(b) && b[cr+1] == '\n':
		s.bareCR = false
		return cr, cr + 2
	case cr+1 == len(b) && !end:
		return -1, 0
	}
	s.bareCR = true
	return cr, cr + 1
}

// readLine reads the line that ends at at, and says whether it is blank.
func (s *scan) readLine(b []byte, at int) (blank bool) {
	line := s.line
	if s.first && line == 0 && bytes.HasPrefix(b, []byte(bom)) {
		line = len(bom)
	}
	if line >= at {
		return true
	}
	if skip, ok := dataField(b[line:at]); ok {
		if s.fields++; s.fields == 1 {
			s.data, s.dataLen = line+skip, at-line-skip
		}
	}
	return false
}

// next begins the block behind the one of n bytes that was given out.
func (s *scan) next(n int) {
	*s = scan{bareCR: s.bareCR, skipLF: s.skipLF, lf: max(s.lf-n, 0)}
}

// dataField says whether the line is a data field and how many bytes precede its
// value.
func dataField(line []byte) (skip int, ok bool) {
	const name = "data"
	if !bytes.HasPrefix(line, []byte(name)) {
		return 0, false
	}
	switch rest := line[len(name):]; {
	case len(rest) == 0:
		return len(name), true
	case rest[0] != ':':
		return 0, false
	case len(rest) > 1 && rest[1] == ' ':
		return len(name) + 2, true
	}
	return len(name) + 1, true
}
