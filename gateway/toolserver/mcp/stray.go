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
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				return
			}
			s.inside, b = false, b[i+1:]
			continue
		}
		c := b[0]
		b = b[1:]
		space := c == ' ' || c == '\t' || c == '\r'
		switch {
		case string(s.kept) == "[" && space: // a list, or a line such as "[info] …"
		case c == '{' && (len(s.kept) == 0 || string(s.kept) == "["):
			s.inside, s.kept = true, nil
		case len(s.kept) > 0 && (c == '\n' || len(s.kept) == keptStray):
			s.whole = true
		case len(s.kept) > 0:
			s.kept = append(s.kept, c)
		case !space && c != '\n':
			s.kept = append(s.kept, c)
		}
	}
}

// String is what is kept.
func (s *stray) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.kept)
}
