package upload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/textproto"
	"regexp"
	"strings"
)

// Limits of a form. A name or a boundary has some tens of bytes.
const (
	maxHead  = 16 << 10 // bytes of a part's header
	maxParts = 1000
	maxValue = 1 << 10 // bytes of the field that is looked for
)

// Field finds a field of a form (multipart/form-data, RFC 7578) with its place, wherever among
// the files it stands. Servers disagree about which one counts where there are two, and about what
// a part is called whose header can be read in several ways, so that either is an error. at is
// empty if there is none.
func (b *Body) Field(boundary, name string) (value string, at Span, err error) {
	s := &scanner{body: b, delimiter: append([]byte("\r\n--"), boundary...)}
	found := false
	for parts := 0; ; parts++ {
		head, start, end, err := s.part()
		field, file := "", false
		if err == nil {
			field, file, err = nameOf(head)
		}
		switch {
		case err == io.EOF:
			return value, at, nil
		case err != nil:
			return "", Span{}, err
		case parts == maxParts:
			return "", Span{}, fmt.Errorf("the form has more than %d parts", maxParts)
		case field != name:
			continue
		case file: // some take it for the field
			return "", Span{}, fmt.Errorf("the field %q of the form is a file", name)
		case found:
			return "", Span{}, fmt.Errorf("the form has two fields %q", name)
		case end-start > maxValue:
			return "", Span{}, fmt.Errorf("the field %q of the form has %d bytes; it may have %d", name, end-start, maxValue)
		}
		text := make([]byte, end-start)
		if _, err := b.ReadAt(text, start); err != nil && err != io.EOF {
			return "", Span{}, err
		}
		value, at, found = string(text), Span{start, end}, true
	}
}

// scanner finds the parts of a form.
type scanner struct {
	body      *Body
	delimiter []byte // CRLF, two hyphens and the boundary
	at        int64  // behind the last delimiter; 0 before the first
}

var (
	errCut  = errors.New("the form has no end: its last boundary is missing")
	errHead = errors.New("the header of a part of the form cannot be read")
)

// part is the next part: its header, and where its content is. The error is io.EOF behind the last.
func (s *scanner) part() (head textproto.MIMEHeader, start, end int64, err error) {
	if s.at == 0 {
		if err := s.first(); err != nil {
			return nil, 0, 0, err
		}
	}
	if last, err := s.line(); err != nil || last {
		if err == nil {
			err = io.EOF
		}
		return nil, 0, 0, err
	}
	if head, err = s.head(); err != nil {
		return nil, 0, 0, err
	}
	start = s.at
	// An empty part's delimiter begins with the line end of its header.
	if end, err = s.find(start - 2); err != nil {
		return nil, 0, 0, err
	}
	return head, start, max(start, end), nil
}

var errName = errors.New("a part of the form has a content-disposition that servers read in different ways")

// extended is a name in the form of RFC 2231, which forms have not (RFC 7578, 5.1) and only some read.
var extended = regexp.MustCompile(`(?i)(^|[^a-z])name\*`)

// nameOf is the name of a part's field, and whether that is a file.
func nameOf(head textproto.MIMEHeader) (name string, file bool, err error) {
	said := head["Content-Disposition"]
	if len(said) == 0 {
		return "", false, nil
	}
	kind, params, err := mime.ParseMediaType(said[0])
	_, file = params["filename"]
	if err != nil { // many write the name of a file as it is
		at := strings.Index(strings.ToLower(said[0]), "filename")
		if at < 0 || strings.Contains(strings.ToLower(said[0][at+len("filename"):]), "name") {
			return "", false, errName
		}
		kind, params, err = mime.ParseMediaType(strings.TrimRight(said[0][:at], "; \t"))
		file = true
	}
	if err != nil || len(said) > 1 || kind != "form-data" && params["name"] != "" || extended.MatchString(said[0]) {
		return "", false, errName
	}
	return params["name"], file, nil
}

// first goes behind the first delimiter. The line end in front of it may be missing.
func (s *scanner) first() error {
	begin := make([]byte, len(s.delimiter)-2)
	if n, _ := s.body.ReadAt(begin, 0); bytes.Equal(begin[:n], s.delimiter[2:]) {
		s.at = int64(n)
		return nil
	}
	_, err := s.find(0)
	return err
}

// line reads what follows a delimiter on its line: two hyphens behind the last.
func (s *scanner) line() (last bool, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(s.body, s.at, maxHead), 64)
	text, err := r.ReadSlice('\n')
	if bytes.HasPrefix(text, []byte("--")) {
		return true, nil
	}
	if err != nil || !bytes.HasSuffix(text, []byte("\r\n")) || len(bytes.Trim(text[:len(text)-2], " \t")) > 0 {
		return false, errHead
	}
	s.at += int64(len(text))
	return false, nil
}

func (s *scanner) head() (textproto.MIMEHeader, error) {
	text := make([]byte, maxHead)
	n, err := s.body.ReadAt(text, s.at)
	if err != nil && err != io.EOF {
		return nil, err
	}
	text = text[:n]
	end := bytes.Index(text, []byte("\r\n\r\n"))
	if bytes.HasPrefix(text, []byte("\r\n")) {
		s.at += 2
		return textproto.MIMEHeader{}, nil
	}
	if end < 0 {
		return nil, errHead
	}
	if bytes.Count(text[:end], []byte{'\n'}) != bytes.Count(text[:end], []byte("\r\n")) {
		return nil, errHead // readers disagree about what a line end alone is
	}
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(text[:end+4]))).ReadMIMEHeader()
	if err != nil {
		return nil, errHead
	}
	s.at += int64(end) + 4
	return h, nil
}

// find goes behind the next delimiter and returns where it begins. A delimiter is followed by
// white space and a line end, or by two hyphens; what only begins like one is content.
func (s *scanner) find(from int64) (at int64, err error) {
	const chunk = 64 << 10
	tail := len(s.delimiter) + 2
	buf := make([]byte, chunk+tail)
	for {
		n, err := s.body.ReadAt(buf, from)
		if err != nil && err != io.EOF {
			return 0, err
		}
		text := buf[:n]
		for skip := 0; ; {
			i := bytes.Index(text[skip:], s.delimiter)
			if i < 0 {
				break
			}
			i += skip
			behind := i + len(s.delimiter)
			if behind+2 > n && err != io.EOF {
				break // the next piece has all of it
			}
			if ends(text[behind:]) {
				s.at = from + int64(behind)
				return from + int64(i), nil
			}
			skip = i + 1
		}
		if err == io.EOF {
			return 0, errCut
		}
		from += int64(n - tail)
	}
}

// ends reports whether what follows a boundary ends its line.
func ends(text []byte) bool {
	return bytes.HasPrefix(text, []byte("--")) || bytes.HasPrefix(text, []byte("\r\n")) || len(text) > 0 && (text[0] == ' ' || text[0] == '\t')
}
