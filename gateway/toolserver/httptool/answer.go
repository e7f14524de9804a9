package httptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/reach"
)

const (
	maxAnswer = 4 << 20  // bytes that are read
	maxText   = 64 << 10 // bytes of a result
)

// read makes a result of an answer.
func (s *Server) read(t *ready, resp *http.Response, body []byte) (*toolserver.Result, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, &toolserver.Error{Kind: toolserver.Unavailable, Message: s.says(fmt.Sprintf("does not let the gateway in (HTTP %d)", status)),
			Hint: "Its operator must look at the credentials in headers; there is no use in repeating the call."}
	case status == http.StatusTooManyRequests:
		return nil, &toolserver.Error{Kind: toolserver.Unavailable, Message: s.says("has had too many calls (HTTP 429)"), Again: true}
	case status >= http.StatusInternalServerError:
		return nil, &toolserver.Error{Kind: toolserver.Unavailable, Message: s.says(fmt.Sprintf("fails (HTTP %d)", status)), Again: true, Sent: true}
	case status >= http.StatusMultipleChoices: // its own word: not found, in conflict
		out := &toolserver.Result{Failed: true}
		out.Text, out.Cut = toolserver.Cut(strings.TrimSpace(fmt.Sprintf("HTTP %d %s\n%s", status, http.StatusText(status), text(kind, body))), maxText)
		return out, nil
	}
	out := &toolserver.Result{}
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return out, nil
	case isJSON:
		return s.pick(t, body)
	case t.Result != "":
		return nil, &toolserver.Error{Kind: toolserver.Failed, Message: s.says("gave an answer that is no JSON, so that it has no part " + t.Result), Sent: true}
	case strings.HasPrefix(kind, "text/") || kind == "":
		out.Text, out.Cut = toolserver.Cut(string(body), maxText)
	default:
		out.Dropped = []string{strings.Split(kind, "/")[0]}
	}
	return out, nil
}

// text is a body as far as it is text.
func text(kind string, body []byte) string {
	if strings.HasPrefix(kind, "text/") || strings.Contains(kind, "json") || strings.Contains(kind, "xml") {
		return string(body)
	}
	return ""
}

// pick takes the part of an answer that is the result. Text is given as text, all else as JSON.
func (s *Server) pick(t *ready, body []byte) (*toolserver.Result, error) {
	value := jsontext.Value(body)
	if err := value.Compact(jsontext.AllowDuplicateNames(false)); err != nil {
		return nil, &toolserver.Error{Kind: toolserver.Failed, Message: s.says("gave an answer that is no proper JSON"), Sent: true, Err: err}
	}
	steps, err := pointer(t.Result)
	if err != nil {
		return nil, &toolserver.Error{Kind: toolserver.Failed, Message: s.says("has a result that cannot be read"), Sent: true, Err: err}
	}
	part := json.RawMessage(value)
	for _, step := range steps {
		if part = member(part, step); part == nil {
			return nil, &toolserver.Error{Kind: toolserver.Failed, Message: s.says("gave an answer without the part " + t.Result), Sent: true,
				Hint: "There may be no such thing; the call itself has run."}
		}
	}
	out := &toolserver.Result{}
	if part[0] == '"' {
		var whole string
		if err := json.Unmarshal(part, &whole); err != nil {
			return nil, &toolserver.Error{Kind: toolserver.Failed, Message: s.says("gave an answer that is no proper JSON"), Sent: true, Err: err}
		}
		out.Text, out.Cut = toolserver.Cut(whole, maxText)
	} else {
		out.Text, out.Cut = toolserver.Cut(string(part), maxText)
	}
	if len(part) <= maxText {
		out.Structured = part
	} else {
		out.Dropped = append(out.Dropped, toolserver.Structured)
	}
	return out, nil
}

// member is a member of an object or an element of a list; nil if there is none.
func member(of json.RawMessage, step string) json.RawMessage {
	switch of[0] {
	case '{':
		var members map[string]json.RawMessage
		_ = json.Unmarshal(of, &members)
		return members[step]
	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(of, &elements)
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(elements) || strconv.Itoa(i) != step {
			return nil
		}
		return elements[i]
	}
	return nil
}

// failure says why there was no answer.
func (s *Server) failure(ctx context.Context, sent bool, err error) error {
	e := &toolserver.Error{Kind: toolserver.Unavailable, Message: s.says("does not answer"), Sent: sent, Again: true, Err: err}
	if refused, ok := reach.Refused(err); ok {
		e.Message, e.Sent, e.Again = s.says("is refused: "+refused.Why), refused.Ran, false
		if refused.Ran {
			e.Hint = toolserver.Unsure
		}
		return e
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Kind, e.Message = toolserver.Timeout, s.says("has not answered in time")
	case ctx.Err() != nil:
		e.Again, e.Message = false, s.says("was not waited for: the request has ended")
	default:
		e.Cause = toolserver.NetworkCause(err)
	}
	if sent {
		e.Hint = toolserver.Unsure
	}
	return e
}

func (s *Server) says(what string) string { return fmt.Sprintf("Tool server %q %s.", s.name, what) }
