package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// check refuses a case that does not say enough to be run, or says it twice.
func (c *Case) check() error {
	for _, f := range c.Features {
		if !slices.Contains(Features(), f) {
			return fmt.Errorf("there is no feature %q", f)
		}
	}
	switch {
	case c.About == "" || c.Parser == "" || c.Rule == "":
		return errors.New("the head must have a sentence, features, parser and rule")
	case len(c.Features) == 0 || c.Client == nil && !c.Has(Chat) && !c.Has(Stream):
		return errors.New("features must list chat, stream or both")
	}
	if err := errors.Join(c.checkLevel(), c.checkRequest()); err != nil {
		return err
	}
	if err := c.checkUpstream(); err != nil {
		return err
	}
	if err := c.checkSteps(); err != nil {
		return err
	}
	return c.checkWant()
}

// checkLevel refuses a case of Core that does not say who demands what it wants, and a path
// or second request that leads nowhere.
func (c *Case) checkLevel() error {
	all := Sources()
	for _, key := range c.Sources {
		if all[key] == "" {
			return fmt.Errorf("sources.txt has no %q", key)
		}
	}
	switch {
	case c.Level == Core && len(c.Sources) == 0:
		return errors.New("a case of the level core has a source: whoever outside of this repository demands it")
	case c.Path != "" && !strings.HasPrefix(c.Path, "/"):
		return errors.New("a path begins with a slash")
	case c.Then != "" && c.Next == nil && !strings.Contains(c.Then, " /"):
		return errors.New("then is a method and a path, or there is a request.next.json")
	}
	return nil
}

// checkRequest refuses what cannot be sent.
func (c *Case) checkRequest() error {
	switch {
	case c.Request != nil && c.RawRequest != nil:
		return errors.New("there must be one of request.json and request.raw, not both")
	case c.Client == nil && c.Request == nil && c.RawRequest == nil:
		return errors.New("there must be one of request.json, request.raw and client.http")
	case c.Client != nil && (c.Header != nil || c.Model != nil):
		return errors.New("client.http has the header itself, and no model.jsonl beside it")
	}
	body := strings.Contains(sent(c.Client), "$BODY")
	if c.Client != nil && body != (c.Request != nil || c.RawRequest != nil) {
		return errors.New("a client.http with $BODY in it has a request beside it, and else none")
	}
	return nil
}

// checkUpstream refuses an upstream that cannot play its part.
func (c *Case) checkUpstream() error {
	for name, answer := range map[string][]Step{"upstream.http": c.HTTP, "upstream.again.http": c.Again} {
		if answer != nil && !strings.Contains(sent(answer), "\r\nConnection: close\r\n") {
			return errors.New(name + ` must have the header "Connection: close": the connection is closed behind it`)
		}
	}
	return c.checkSaid()
}

// checkSaid refuses an upstream that says nothing, or two things at once.
func (c *Case) checkSaid() error {
	onWire := c.HTTP != nil || c.SSE != nil
	switch {
	case c.Says != nil && (c.Model != nil || onWire):
		return errors.New("upstream.json stands alone: the suite writes it in the protocol that it is asked in")
	case c.Model != nil && onWire:
		return errors.New("model.jsonl stands alone: the suite writes the upstream's answer around it")
	case c.SSE != nil && c.HTTP == nil && c.Has(Chat):
		return errors.New("upstream.sse alone is for streams: leave chat out, or add upstream.http")
	case c.Again != nil && c.HTTP == nil:
		return errors.New("upstream.again.http is what follows an upstream.http")
	}
	if c.silent() && !c.isOver() && c.protocol() != otherAPI {
		return errors.New("there must be a model.jsonl, upstream.http or upstream.sse, or a want/error.json or want/requests")
	}
	return nil
}

// isOver reports whether the case says what becomes of a request that the upstream need not get.
func (c *Case) isOver() bool {
	return c.Want.Error != nil || c.Want.Requests != nil || c.Client != nil
}

// silent reports whether the upstream must not be asked.
func (c *Case) silent() bool {
	return c.Model == nil && c.HTTP == nil && c.SSE == nil && c.Says == nil
}

// checkSteps refuses steps on the wrong side.
func (c *Case) checkSteps() error {
	return errors.Join(
		checkSteps("client.http", c.Client, Send, Pause, Await, AwaitAsked, Close, CloseWrite),
		checkSteps("upstream.http", c.HTTP, Send, Pause, Hold),
		checkSteps("upstream.again.http", c.Again, Send, Pause, Hold),
		checkSteps("upstream.sse", c.SSE, Send, Pause, Hold))
}

// checkWant refuses a case that wants nothing, or an error that is none.
func (c *Case) checkWant() error {
	for _, b := range c.allWants() {
		if err := b.Want.check(); err != nil {
			return err
		}
	}
	w := &c.Want
	switch {
	case w.nothing() && c.Asked == nil:
		return errors.New("nothing is wanted: add want/response.json or another file of want")
	case c.Model == nil && (w.Events != nil || w.Stream != nil || w.Deltas > 0):
		return errors.New("events.txt, stream.jsonl and deltas are about a text: add model.jsonl")
	case !c.Has(Stream) && (w.Stream != nil || w.Deltas > 0):
		return errors.New("stream.jsonl and deltas are about a stream: add the feature")
	}
	return c.checkTalk()
}

// check refuses what no answer can be.
func (w *Want) check() error {
	if err := errors.Join(checkHeader(w.Header), checkHeader(w.UpstreamHeader)); err != nil {
		return err
	}
	if w.Error != nil && statusIs(200, w.first()) {
		return errors.New("want/error.json needs a want/status of 400 or more")
	}
	return nil
}

// checkTalk refuses what only a connection of the case's own can give.
func (c *Case) checkTalk() error {
	w := &c.Want
	switch {
	case c.Client == nil && (len(w.Status) > 1 || w.Left > 0):
		return errors.New("several answers, and want/left, are about a client.http")
	case w.Left > 0 && !slices.ContainsFunc(c.Client, func(s Step) bool { return s.Do == Close }):
		return errors.New(`want/left is about a client that leaves: add {"do": "close"} to client.http`)
	}
	return nil
}

// nothing reports whether there is nothing that an answer could be compared with.
func (w *Want) nothing() bool {
	return w.Error == nil && w.Answers == nil && w.Body == nil && w.Frames == nil && w.StreamError == nil &&
		w.RawBody == nil && w.RawData == nil && w.Requests == nil && w.Left == 0 && w.Status == nil && w.Header == nil &&
		w.Upstream == nil && w.RawUpstream == nil && w.UpstreamHeader == nil
}
