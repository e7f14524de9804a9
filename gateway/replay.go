package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway/answers"
)

// cached answers a request from what is stored, or asks and keeps what can be kept. The
// first of equal requests that come at the same time asks, and the others wait for it.
func (g *Gateway) cached(ctx context.Context, req *Request, c *conduct, way *chosen) (*Response, error) {
	began := time.Now()
	fresh := req.freshness()
	if fresh == ownAnswer || !req.isRepeatable() {
		resp, err := g.ask(ctx, req, c, way)
		return noted(resp, err, AnswerBypass)
	}
	t := &tape{g: g, policy: c.Answers, readers: fingerprint(g.parsers)}
	t.key = g.answerKey(req, c, way, t.readers)
	handed := false
	defer func() {
		if !handed { // also if something panicked: those who wait must hear of it
			t.giveUp()
		}
	}()
	how := AnswerBypass
	if fresh == anyAnswer {
		a, found, err := t.find(ctx)
		if err != nil {
			return nil, err
		}
		if a != nil {
			resp := g.replay(ctx, req, way, a, found)
			if found == AnswerHit { // not what was spent on waiting
				resp.Summary.Overhead = time.Since(began)
			}
			return resp, nil
		}
		how = AnswerMiss
		g.missed(ctx, req)
	}
	resp, err := g.ask(ctx, req, c, way)
	switch {
	case err == nil && !resp.Summary.isSound():
		t.giveUp() // nobody has to wait for its end to learn that
	case err == nil:
		resp.tape, handed = t, true
	case AsError(err).Kind == Canceled:
		t.abandon()
	}
	return noted(resp, err, how)
}

// maxWait is how long a request waits for the answer to an equal one. That one's client may
// read it as slowly as it likes, and nobody else should have to wait for that.
const maxWait = 20 * time.Second

// find looks for the answer in the store, and waits for one that is under way. If there is
// none the tape may have a flight, which the caller leads.
func (t *tape) find(ctx context.Context) (*answers.Answer, AnswerOutcome, error) {
	flight, leads := t.g.answering.flights.Join(t.key.Name)
	if flight == nil { // too many wait
		return nil, "", nil
	}
	if leads {
		t.flight = flight
		a, ok := t.policy.Store.Get(ctx, t.key)
		if ok {
			t.land(a)
		}
		return a, AnswerHit, nil
	}
	joined := t.g.now()
	bounded, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	switch a, end := flight.Wait(bounded); end {
	case answers.Landed:
		t.over = true
		if a.Stored.Before(joined) { // the leader had it from the store
			return a, AnswerHit, nil
		}
		return a, AnswerShared, nil
	case answers.Lead:
		t.flight = flight
	case answers.Left:
		if ctx.Err() != nil {
			return nil, "", ended(ctx)
		}
	case answers.Failed: // the caller goes on its own
	}
	return nil, "", nil
}

// answerKey is what an answer is stored under: all that it depends on. The body counts as
// it came, byte for byte: what can be left out of it without changing an answer is the
// upstream's to know. So does the day, where the prompt tells it.
func (g *Gateway) answerKey(req *Request, c *conduct, way *chosen, readers string) answers.Key {
	day := ""
	if c.Date != nil {
		day = g.now().In(c.Date).Format(time.DateOnly)
	}
	asked := make([]string, len(way.targets)) // which ones may have been decided by a header that does not count
	for i, t := range way.targets {
		asked[i] = fmt.Sprintf("%+v", t)
	}
	return g.answering.keys.Of([]byte(req.Tenant), []byte(req.Route), []byte(way.model), []byte(c.Answers.Fingerprint), []byte(readers), answers.List(asked...), []byte(day),
		lastingHeaders(req.Header), req.body)
}

// fingerprint stands for the parsers of a source or a session, if it has one.
func fingerprint(of any) string {
	if f, ok := of.(Fingerprinter); ok {
		return f.Fingerprint()
	}
	return ""
}

// noted notes what became of a request, also where it has failed.
func noted(resp *Response, err error, how AnswerOutcome) (*Response, error) {
	var e *Error
	switch {
	case resp != nil:
		resp.Summary.AnswerCache = how
	case errors.As(err, &e) && e.Summary != nil:
		e.Summary.AnswerCache = how
	}
	return resp, err
}

// replay is a stored answer as a response. No upstream, and no breaker, hears of it.
func (g *Gateway) replay(ctx context.Context, req *Request, way *chosen, a *answers.Answer, how AnswerOutcome) *Response {
	r := &Response{gateway: g, ctx: ctx, req: req, Streamed: a.Streamed, Header: http.Header{}, stored: stored{replayed: a}, attempt: attempt{settled: true}}
	if a.ContentType != "" {
		r.Header.Set("Content-Type", a.ContentType)
	}
	s := &r.Summary
	s.Route = &way.RouteChoice
	s.Provider, s.Model, s.AnswerCache, s.Age = a.Provider, a.Model, how, a.Age(g.now())
	s.Parsers, s.Repairs = a.Parsers, a.Repairs
	for _, c := range a.Corrections {
		s.Corrections = append(s.Corrections, Correction{Tool: c.Tool, Reason: c.Reason})
	}
	return r
}

// maxPiece is how much of a stored stream is given out at once: a client that is slow takes
// it within the time that it has for a write.
const maxPiece = 64 << 10

// again returns the next piece of a stored answer.
func (r *Response) again() (b []byte, more bool, err error) {
	left := r.replayed.Body[r.at:]
	if len(left) == 0 {
		return nil, false, io.EOF
	}
	if r.Streamed {
		left = left[:min(len(left), maxPiece)]
	}
	r.at += len(left)
	return left, r.at < len(r.replayed.Body), nil
}

// ended is why a request's context has ended.
func ended(ctx context.Context) *Error {
	var e *Error
	if errors.As(context.Cause(ctx), &e) {
		return e
	}
	return &Error{Kind: Canceled, Message: "The client closed the request.", Err: context.Cause(ctx)}
}

// AgeText writes how old a stored answer is as the header age does, in seconds; "" for
// other answers.
func (s *Summary) AgeText() string {
	if !s.Replayed() {
		return ""
	}
	return fmt.Sprint(int64(s.Age / time.Second))
}
