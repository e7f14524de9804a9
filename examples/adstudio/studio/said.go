package studio

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3/option"
)

// said is what the gateway says of an answer: in headers, and of a stream at its end in a
// comment, which SDKs pass over.
type said struct {
	mu     sync.Mutex
	header http.Header
	late   map[string]string
}

// listen keeps what the gateway says of one request.
func (s *said) listen(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if err != nil {
		return resp, err
	}
	s.mu.Lock()
	s.header = resp.Header
	s.mu.Unlock()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &listener{ReadCloser: resp.Body, said: s}
	}
	return resp, nil
}

// of is what was said under a name: tool_run is that of the header X-Callgate-Tool-Run.
func (s *said) of(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.late[name]; v != "" {
		return v
	}
	return s.header.Get("X-Callgate-" + strings.ReplaceAll(name, "_", "-"))
}

// listener looks for the gateway's comments in a stream that somebody else reads.
type listener struct {
	io.ReadCloser
	said *said
	line []byte // the one that has begun, as far as it is looked at
}

const (
	comment = ": callgate "
	maxLine = 4096
)

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		l.line = append(l.line, part[:min(len(part), maxLine-len(l.line))]...)
		if rest = after; ended {
			l.said.hear(string(l.line))
			l.line = l.line[:0]
		}
	}
	return n, err
}

func (s *said) hear(line string) {
	facts, ok := strings.CutPrefix(line, comment)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late == nil {
		s.late = map[string]string{}
	}
	for word := range strings.FieldsSeq(facts) {
		if name, value, ok := strings.Cut(word, "="); ok {
			s.late[name] = value
		}
	}
}
