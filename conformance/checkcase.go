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
	case !c.Has(Chat) && !c.Has(Stream):
		return errors.New("features must list chat, stream or both")
	case (c.Request == nil) == (c.RawRequest == nil):
		return errors.New("there must be one of request.json and request.raw")
	}
	if err := c.checkUpstream(); err != nil {
		return err
	}
	return c.checkWant()
}

// checkUpstream refuses an upstream that cannot play its part.
func (c *Case) checkUpstream() error {
	switch {
	case c.Model != nil && (c.HTTP != nil || c.SSE != nil):
		return errors.New("model.jsonl stands alone: the suite writes the upstream's answer around it")
	case c.SSE != nil && c.HTTP == nil && c.Has(Chat):
		return errors.New("upstream.sse alone is for streams: leave chat out, or add upstream.http")
	case c.HTTP != nil && !strings.Contains(strings.Join(c.HTTP, ""), "\r\nConnection: close\r\n"):
		return errors.New(`upstream.http must have the header "Connection: close": the connection is closed behind it`)
	case c.silent() && c.Want.Error == nil:
		return errors.New("there must be a model.jsonl, upstream.http or upstream.sse, or a want/error.json")
	}
	return nil
}

// silent reports whether the upstream must not be asked.
func (c *Case) silent() bool { return c.Model == nil && c.HTTP == nil && c.SSE == nil }

// checkWant refuses a case that wants nothing, or an error that is none.
func (c *Case) checkWant() error {
	w := &c.Want
	switch {
	case w.nothing() && c.Asked == nil:
		return errors.New("nothing is wanted: add want/response.json or another file of want")
	case c.Model == nil && (w.Events != nil || w.Stream != nil || w.Deltas > 0):
		return errors.New("events.txt, stream.jsonl and deltas are about a text: add model.jsonl")
	case !c.Has(Stream) && (w.Stream != nil || w.Deltas > 0):
		return errors.New("stream.jsonl and deltas are about a stream: add the feature")
	case w.Error != nil && w.Status < 400:
		return errors.New("want/error.json needs a want/status of 400 or more")
	}
	return nil
}

// nothing reports whether there is nothing that an answer could be compared with.
func (w *Want) nothing() bool {
	return w.Error == nil && w.Answers == nil && w.Body == nil && w.Frames == nil && w.StreamError == nil
}
