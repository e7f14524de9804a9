package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/content"
)

// startRecording begins the recording of a request, where what is said is kept: the body, and what is answered, as the
// client gets it.
func startRecording(c echo.Context, contents *content.Keeper, body []byte) {
	recording := contents.Begin()
	if recording == nil {
		return
	}
	recordOf(c).recording = recording
	recording.Asked(body)
	w := c.Response()
	w.Writer = &recorded{ResponseWriter: w.Writer, answered: recording.Answered}
}

// recorded is a writer of which somebody is told what is written.
type recorded struct {
	http.ResponseWriter
	answered func(piece []byte)
}

// Write implements io.Writer.
func (w *recorded) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.answered(b[:n])
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *recorded) Unwrap() http.ResponseWriter { return w.ResponseWriter }
