package upstream

import (
	"io"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
)

// Whole is a reply that has been read.
type Whole struct {
	Head http.Header
	Data []byte
	Warn []string // its warnings
	Held headers.Withheld
	// Spoken is the protocol of the answer, as [gateway.Speaker] has it.
	Spoken string

	given bool
}

var (
	_ gateway.Reply      = (*Whole)(nil)
	_ gateway.Withholder = (*Whole)(nil)
	_ gateway.Warner     = (*Whole)(nil)
	_ gateway.Speaker    = (*Whole)(nil)
)

// Withheld implements [gateway.Withholder].
func (w *Whole) Withheld() headers.Withheld { return w.Held }

// Protocol implements [gateway.Speaker].
func (w *Whole) Protocol() string { return w.Spoken }

// Header implements [gateway.Reply].
func (w *Whole) Header() http.Header { return w.Head }

// Streamed implements [gateway.Reply].
func (w *Whole) Streamed() bool { return false }

// Next implements [gateway.Reply].
func (w *Whole) Next() (*gateway.Frame, error) {
	if w.given {
		return nil, io.EOF
	}
	w.given = true
	return &gateway.Frame{Raw: w.Data, Data: w.Data, Whole: true}, nil
}

// Close implements [gateway.Reply].
func (w *Whole) Close() error { return nil }

// Warnings implements [gateway.Warner].
func (w *Whole) Warnings() []string { return w.Warn }
