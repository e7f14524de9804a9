package socket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// message is a client's request for a response.
type message struct {
	body     []byte // as it is posted
	room     *inflight.Claim
	lane     string // stream_id as JSON, "" without one
	prepares bool   // generate is false, or is overridden so
}

// inLane is an event with the lane of the message.
func (m *message) inLane(event []byte) []byte {
	if m == nil || m.lane == "" {
		return event
	}
	return with(event, "stream_id", []byte(m.lane))
}

// errRefused says that a message was refused for its size: what is left of it is not read.
var errRefused = errors.New("the message was refused")

// read reads the next message: nil if it was none that asks for a response, and that was said.
func (c *connection) read() (*message, error) {
	kind, from, err := c.ws.Reader(c.ctx)
	if err != nil {
		return nil, err
	}
	room := c.settings.Memory.Claim()
	text, err := c.readAll(from, room)
	if err != nil {
		room.Close()
		return nil, err
	}
	m, answer := readMessage(kind, text)
	if answer != nil {
		defer room.Close()
		if room.Grow(int64(len(answer))) != nil { // what was to steer a response is in it
			answer = refusal(http.StatusServiceUnavailable, "memory_spent", "", "The gateway has no memory for the answer at the moment: try again later.")
		}
		c.turnDown(answer)
		return nil, nil //nolint:nilnil // see above
	}
	m.room = room
	return m, nil
}

// readAll reads a message as far as it may go. Room is claimed for it as it comes.
func (c *connection) readAll(from io.Reader, room *inflight.Claim) ([]byte, error) {
	const first, grows = 4 << 10, 2
	const piece = 4 << 10 // of a frame: a read ends when it has all that it asks for
	most := c.of.largest.Load()
	stalled := time.AfterFunc(c.of.stall, func() { c.cut("nothing more comes of a message") })
	defer stalled.Stop()
	var text []byte
	for {
		if len(text) == cap(text) {
			size := max(first, grows*cap(text))
			if err := room.Grow(int64(size - cap(text))); err != nil {
				c.refuse(nil, http.StatusServiceUnavailable, "memory_spent", "The gateway has no memory for a message of this size at the moment: try again later.")
				c.part(websocket.StatusTryAgainLater, "no memory for this message")
				return nil, errRefused
			}
			text = append(make([]byte, 0, size), text...)
		}
		n, err := from.Read(text[len(text):min(cap(text), len(text)+piece)])
		text = text[:len(text)+n]
		stalled.Reset(c.of.stall)
		c.heard.Add(1)
		switch {
		case int64(len(text)) > most:
			c.refuse(nil, http.StatusRequestEntityTooLarge, "request_too_large", fmt.Sprintf("The message is larger than %d bytes (limits.body).", most))
			c.part(websocket.StatusMessageTooBig, "the message is too large")
			return nil, errRefused
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		}
	}
}

// ownMembers are those of a message that the body of a request has not.
var ownMembers = [...]string{"type", "stream", "stream_id", "generate", "background"}

// readMessage reads a message. What is answered at once, since it does not ask for a response that there
// can be, is the event for that.
func readMessage(kind websocket.MessageType, text []byte) (m *message, answer []byte) {
	text, m = bytes.TrimSpace(text), &message{}
	if kind != websocket.MessageText || !wire.IsObject(text) || !json.Valid(text) {
		return nil, refusal(http.StatusBadRequest, "invalid_request", "", "The message is not a JSON object: send {\"type\": \"response.create\", …} as text.")
	}
	var of [len(ownMembers)][]byte
	wire.Members(text, 0, func(key []byte, v wire.Span) bool {
		for i, name := range ownMembers {
			if string(key) == name {
				of[i] = v.Of(text)
			}
		}
		return true
	})
	kindOf, lane, generate, background := of[0], of[2], of[3], of[4]
	if len(lane) > 0 && string(lane) != "null" {
		if lane[0] != '"' || len(lane) > maxLane {
			return nil, refusal(http.StatusBadRequest, "invalid_request", "stream_id", fmt.Sprintf("stream_id must be a string of at most %d bytes.", maxLane-len(`""`)))
		}
		m.lane = string(lane)
	}
	switch name := wire.Unquote(kindOf); {
	case name == "response.steer":
		return nil, steerFailed(text)
	case name != "response.create":
		return nil, m.inLane(refusal(http.StatusBadRequest, "invalid_request", "type", fmt.Sprintf("The message's type is %.60q; it must be \"response.create\".", name)))
	case string(background) == "true":
		return nil, m.inLane(refusal(http.StatusBadRequest, "invalid_request", "background",
			"Over a WebSocket no response runs in the background: leave background out, or use POST /v1/responses."))
	}
	m.prepares = string(generate) == "false" || prewarms(text)
	m.body = append(wire.AppendOthers([]byte(`{"stream":true`), text, ownMembers[:]...), '}')
	return m, nil
}

// prewarms reports whether a message only prepares a cache of prompts, which overrides generate.
func prewarms(text []byte) bool {
	all := wire.Span{End: len(text)}
	options := wire.Find(text, all, "prompt_cache_options")
	return string(wire.Find(text, options, "prewarm").Of(text)) == "true"
}

// maxLane is how long a stream_id may be as JSON: OpenAI's are 256 characters without their quotes.
const maxLane = 256 + len(`""`)
