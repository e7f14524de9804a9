package h1

import (
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"
)

// messages are the memory of requests. A longer one than keptMessage is not kept.
var messages = sync.Pool{New: func() any { return new([]byte) }}

const keptMessage = MaxBody + 16<<10

// appendMessage appends a request as it goes over the wire.
func appendMessage(b []byte, r *Request, target string) ([]byte, error) {
	if !httpguts.ValidHostHeader(r.Host) {
		return b, fmt.Errorf("invalid host %q", r.Host)
	}
	b = append(append(append(append(b, r.Method...), ' '), target...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, r.Host...), "\r\n"...)
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return b, fmt.Errorf("invalid name of a header %q", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return b, fmt.Errorf("invalid value of the header %q", name)
			}
			b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
		}
	}
	b = append(b, "Content-Length: "...)
	b = append(strconv.AppendInt(b, int64(len(r.Body)), 10), "\r\n\r\n"...)
	return append(b, r.Body...), nil
}

// targets are what requests ask for, by their URLs. A provider has few of them, mostly one.
type targets struct{ latest atomic.Pointer[asked] }

type asked struct {
	url    *url.URL
	target string
}

func (t *targets) of(u *url.URL) string {
	if latest := t.latest.Load(); latest != nil && latest.url == u {
		return latest.target
	}
	a := &asked{u, u.RequestURI()}
	t.latest.Store(a)
	return a.target
}
