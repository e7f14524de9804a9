package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/protocol"
)

// exchange serves the paths on which clients ask models: it asks the gateway, and writes what comes.
type exchange struct {
	gateway   Chatter
	access    *access
	bodies    *bodies
	observer  *observer
	contents  *content.Keeper // of what is said; may be nil
	heartbeat time.Duration   // after how much silence a stream has a sign of life; 0: never
}

// handler serves the path of a protocol, whose requests parse reads.
func (x *exchange) handler(parse protocol.Parser) echo.HandlerFunc {
	return x.bodies.withBody(func(c echo.Context, body []byte, from protocol.Client) error {
		began := time.Now()
		startRecording(c, x.contents, body)
		front, err := parse(c.Request().Context(), body, from)
		if err != nil {
			return err
		}
		req, err := from.Limits.Parse(front.Chat(), from.Room)
		if err != nil {
			return err
		}
		req.Source = front.Source()
		if err := x.access.enter(c, req); err != nil {
			return err
		}
		if req, err = x.access.capped(req); err != nil {
			return err
		}
		if d, ok := front.(protocol.Detached); ok {
			return x.detach(c, d, req)
		}
		return x.ask(c, front, req, began)
	})
}

// ask asks the gateway, and writes its answer.
func (x *exchange) ask(c echo.Context, front protocol.Front, req *gateway.Request, began time.Time) error {
	rec := recordOf(c)
	beat := newHeartbeat(c, rec.form.Ping, x.heartbeat, req.Stream)
	defer beat.stop()
	ctx, done := x.observer.begin(c)
	defer func() { done(req.Routing.Route) }()
	resp, err := x.gateway.Chat(ctx, req)
	if short, ok := front.(protocol.Shortener); ok && err != nil && short.Shorten(ctx, gateway.AsError(err)) {
		if req, err = req.Again(front.Chat(), front.Source()); err != nil {
			return err
		}
		resp, err = x.gateway.Chat(ctx, req)
	}
	if err != nil {
		return err
	}
	defer resp.Close()
	rec.summary = resp.Summary
	if said := front.Warnings(); len(said) > 0 {
		resp.Summary.Warnings = append(said, resp.Summary.Warnings...)
		resp.Summary.WarningsInHeader += len(said)
	}
	rec.writer = front.Writer(resp)
	return write(c, resp, rec.writer, began, beat)
}

// enter notes on a request whose it is and what the header of its HTTP request says: wishes, hops, what
// may go to the upstream. It refuses a request that goes round in circles, or whose client may not use
// its model.
func (a *access) enter(c echo.Context, req *gateway.Request) error {
	h := c.Request().Header
	if err := readRetryHeaders(&req.Wishes, h); err != nil {
		return err
	}
	hops, err := hopsOf(h)
	if err != nil {
		return err
	}
	req.ID, req.From.Tenant, req.From.Client = requestID(c), tenantOf(c), clientOf(c)
	req.From.Header, req.Wishes.Arm, req.Wishes.Tools = headers.Kept(h), h.Get(armHeader), h.Get(toolsHeader)
	req.From.Header["Via"] = headers.Via(hops)
	rec := recordOf(c)
	rec.model, rec.stream = req.Model, req.Stream
	if req.Model == "" { // a path that goes to a provider whole
		return a.wholeProvider(c)
	}
	return a.checkScope(req)
}

// armHeader is what a client sets to be in an arm of a rollout, as rollout/arm, and where it is told
// which one it is in.
const armHeader = "X-Callgate-Arm"

// toolsHeader is what a client sets to off to have none of the tools that the model's configuration attaches.
const toolsHeader = "X-Callgate-Tools"

// maxRetriesHeader is what a client sets to say how many further attempts its request
// may take, at most maxRetries; the others say how long the first wait between them is, and the
// longest one, within the bounds of the provider's own settings (retry).
const (
	maxRetriesHeader = "X-Callgate-Max-Retries"
	baseDelayHeader  = "X-Callgate-Base-Delay"
	maxDelayHeader   = "X-Callgate-Max-Delay"
	maxRetries       = 10
	longestBase      = time.Minute
	longestWait      = 10 * time.Minute
)

// readRetryHeaders reads what the client says of retries: how many the gateway may make, and how many
// its SDK has made already. OpenAI's and Anthropic's SDKs count theirs in a header.
func readRetryHeaders(w *gateway.Wishes, h http.Header) error {
	if text := h.Get(maxRetriesHeader); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxRetries {
			return &gateway.Error{Kind: gateway.Invalid, Param: strings.ToLower(maxRetriesHeader),
				Message: fmt.Sprintf("The header %s must be a number from 0 to %d, not %.40q.", strings.ToLower(maxRetriesHeader), maxRetries, text)}
		}
		w.MaxRetries = &n
	}
	var err error
	if w.BaseDelay, err = readDelayHeader(h, baseDelayHeader, longestBase); err != nil {
		return err
	}
	if w.MaxDelay, err = readDelayHeader(h, maxDelayHeader, longestWait); err != nil {
		return err
	}
	if w.MaxDelay > 0 && w.BaseDelay > w.MaxDelay {
		return &gateway.Error{Kind: gateway.Invalid, Param: strings.ToLower(maxDelayHeader),
			Message: fmt.Sprintf("The header %s (%s) must not be less than %s (%s).",
				strings.ToLower(maxDelayHeader), w.MaxDelay, strings.ToLower(baseDelayHeader), w.BaseDelay)}
	}
	if text := h.Get("X-Stainless-Retry-Count"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			w.ClientRetries = max(n, 0)
		}
	}
	return nil
}

// readDelayHeader reads a header that holds a wait, from a millisecond to most; 0 if it is not there.
func readDelayHeader(h http.Header, name string, most time.Duration) (time.Duration, error) {
	text := h.Get(name)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > most {
		return 0, &gateway.Error{Kind: gateway.Invalid, Param: strings.ToLower(name),
			Message: fmt.Sprintf("The header %s must be a time from 1ms to %s, such as 500ms or 2s, not %.40q.", strings.ToLower(name), most, text)}
	}
	return d, nil
}

// detach begins a response in the background, and answers with what there is of it: that it waits, or a
// stream of what comes.
func (x *exchange) detach(c echo.Context, front protocol.Detached, req *gateway.Request) error {
	req.Room = req.Room.Move() // what the request holds is held until the response is over
	d, err := front.Detach(c.Request().Context(), req)
	if err != nil {
		req.Room.Close()
		return err
	}
	recordOf(c).asks = false // it is told of when it is over
	if d.Events == nil {
		return c.JSONBlob(http.StatusOK, d.Body)
	}
	return replay(c, d.Events, x.heartbeat)
}

// write sends an answer: a stream frame by frame, as far as its frames are here, and any other in one piece.
// began is when its request came. An error before the first byte is the caller's to tell; one behind it, fail
// writes into the stream.
func write(c echo.Context, resp *gateway.Response, front protocol.Writer, began time.Time, beat *heartbeat) error {
	frame, err := resp.Next()
	if err != nil && err != io.EOF {
		return err
	}
	w := c.Response()
	if !front.Streamed() {
		body, err := front.Whole(frame)
		if err != nil {
			return err
		}
		setAnswerHeader(w.Header(), resp, true)
		return writeWhole(c, resp, body, began)
	}
	beat.begin(resp.Summary, func() {
		setAnswerHeader(w.Header(), resp, false)
		streamHeader(w.Header())
		w.WriteHeader(http.StatusOK)
	})
	room := pieceRoom.Get().(*[]byte)
	out := (*room)[:0]
	defer func() {
		if *room = out[:0]; cap(out) <= keptPiece {
			pieceRoom.Put(room)
		}
	}()
	for ; err == nil; frame, err = resp.Next() {
		if frame != nil {
			if out, err = front.Frame(out, frame); err != nil {
				break
			}
			if frame.More && len(out) < maxPiece { // what follows is here, and goes with it
				continue
			}
		}
		if werr := beat.write(out, frame == nil || !frame.More); werr != nil {
			return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: werr}
		}
		out = out[:0]
	}
	if err == io.EOF {
		out, err = front.Close(out)
	}
	_ = beat.write(out, true) // a client that left has nothing to be told
	return err                // fail writes it into the stream
}

// maxPiece is how many bytes of a stream are collected before they are written, where all of
// them are here already.
const maxPiece = 16 << 10

// pieceRoom is memory that pieces of streams are collected in: one that grows anew with each stream
// takes twice a piece. More than keptPiece is not kept for the next stream.
var pieceRoom = sync.Pool{New: func() any { return new([]byte) }}

const keptPiece = 2 * maxPiece

// streamHeader says that the answer is a stream, to whoever stands in front of us: nginx
// would collect it.
func streamHeader(h http.Header) {
	h.Set("cache-control", "no-cache, no-store")
	h.Set("x-accel-buffering", "no")
}

// writeWhole sends an answer that is no stream.
func writeWhole(c echo.Context, resp *gateway.Response, body []byte, began time.Time) error {
	w := c.Response()
	h := w.Header()
	setTiming(h, began, resp.Summary.Overhead)
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(http.StatusOK)
	conn := connectionOf(c.Request().Context())
	conn.gather(len(body))
	_, err := w.Write(body)
	if late := conn.release(); err == nil {
		err = late
	}
	if err != nil {
		return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: err}
	}
	return nil
}

// setTiming says where the time of an answer went.
func setTiming(h http.Header, began time.Time, overhead time.Duration) {
	var room [80]byte
	said := append(appendMilliseconds(append(room[:0], "upstream;dur="...), time.Since(began)-overhead), ", gw;dur="...)
	from := len(said)
	text := string(appendMilliseconds(said, overhead))
	values := []string{text, text[from:]}
	h["Server-Timing"], h["X-Callgate-Overhead-Ms"] = values[:1:1], values[1:]
}

// setAnswerHeader sets what is known before the first byte: the upstream's headers and ours. Of a whole
// answer all is known.
func setAnswerHeader(h http.Header, resp *gateway.Response, whole bool) {
	upstream := resp.Header()
	for name, values := range upstream {
		key := http.CanonicalHeaderKey(name)
		ours := key == "X-Request-Id" || key == "Request-Id" && h[key] != nil
		if resp.Summary.RateLimits != nil && strings.HasPrefix(key, "X-Ratelimit-") {
			continue // what is left of the client's own limits counts for it
		}
		if !ours && !headers.Advice(key) {
			h[key] = values
		}
	}
	if id := upstream[requestIDHeader]; len(id) > 0 && id[0] != "" {
		h["X-Callgate-Upstream-Request-Id"] = id[:1:1]
	}
	delete(h, "Content-Length")
	observe.Headers(h, resp.Summary, whole)
}

// appendMilliseconds appends a duration in milliseconds, of which the microseconds are the
// fraction.
func appendMilliseconds(dst []byte, d time.Duration) []byte {
	n := d.Round(time.Microsecond).Microseconds()
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	dst = strconv.AppendInt(dst, n/1000, 10)
	n %= 1000
	return append(dst, '.', byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}
