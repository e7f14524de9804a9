package mcp

import (
	"bytes"
	"sync"
)

const keptStray = 200 // bytes of a line that is no message

// stray keeps the first line of a server's output that cannot be a message: a message is a JSON object,
// or a list of them. Programs that print their log to standard output are the usual reason.
type stray struct {
	mu     sync.Mutex
	inside bool // a line that may be a message
	kept   []byte
	whole  bool // kept is all of the line that is kept
}

// see looks at the next piece of the output.
func (s *stray) see(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(b) > 0 && !s.whole {
		if s.inside {
			_, rest, ended := bytes.Cut(b, []byte("\n"))
			s.inside, b = !ended, rest
			continue
		}
		s.add(b[0])
		b = b[1:]
	}
}

// add takes the next byte of a line that is not known to be a message.
func (s *stray) add(c byte) {
	begins := len(s.kept) == 0 || string(s.kept) == "[" // of a list, or of a line such as "[info] …"
	switch {
	case begins && c == '{':
		s.inside, s.kept = true, nil
	case begins && (c == ' ' || c == '\t' || c == '\r'), len(s.kept) == 0 && c == '\n':
	case c == '\n' || len(s.kept) == keptStray:
		s.whole = true
	default:
		s.kept = append(s.kept, c)
	}
}

// String is what is kept.
func (s *stray) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.kept)
}
