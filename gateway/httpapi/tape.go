package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/content"
)

// putOnTape puts a request on a tape, where what is said is kept: the body, and what is answered, as the
// client gets it.
func putOnTape(c echo.Context, tapes *content.Keeper, body []byte) {
	tape := tapes.Begin()
	if tape == nil {
		return
	}
	recordOf(c).tape = tape
	tape.Asked(body)
	w := c.Response()
	w.Writer = &taped{ResponseWriter: w.Writer, answered: tape.Answered}
}

// taped is a writer of which somebody is told what is written.
type taped struct {
	http.ResponseWriter
	answered func(piece []byte)
}

// Write implements io.Writer.
func (w *taped) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.answered(b[:n])
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *taped) Unwrap() http.ResponseWriter { return w.ResponseWriter }
