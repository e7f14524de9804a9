package wire

import "bytes"

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

// lastLine reads what is left when the stream ends without a line end.
func (s *scan) lastLine(b []byte) {
	if s.line < len(b) {
		s.readLine(b, len(b))
	}
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
