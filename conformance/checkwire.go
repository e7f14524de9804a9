package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// differHeader compares headers: null is one that is not there, /…/ a regular
// expression, and !/…/ one that must not match. $KEY stands for the client's key.
func differHeader(at string, want map[string]*string, got http.Header, key string) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, has := want[name], strings.Join(got.Values(name), ", ")
		switch {
		case value == nil && len(got.Values(name)) > 0:
			faults = append(faults, fmt.Sprintf("%s %s: got %q, want none", at, name, has))
		case value != nil && !headerIs(has, strings.ReplaceAll(*value, "$KEY", regexp.QuoteMeta(key))):
			faults = append(faults, fmt.Sprintf("%s %s: got %q, want %s", at, name, has, *value))
		}
	}
	return faults
}

// headerIs compares the value of a header.
func headerIs(has, want string) bool {
	text, not, ok := expression(want)
	if !ok {
		return has == want
	}
	re, err := regexp.Compile(text)
	return err == nil && re.MatchString(has) != not
}

// expression is the regular expression in the wanted value of a header, if it is one.
func expression(want string) (text string, not, ok bool) {
	text, not = strings.CutPrefix(want, "!")
	if len(text) < 2 || text[0] != '/' || text[len(text)-1] != '/' {
		return "", false, false
	}
	return text[1 : len(text)-1], not, true
}

// checkHeader refuses regular expressions that are none.
func checkHeader(want map[string]*string) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if want[name] == nil {
			continue
		}
		if text, _, ok := expression(*want[name]); ok {
			if _, err := regexp.Compile(text); err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
		}
	}
	return nil
}

// differBytes says where two texts begin to differ.
func differBytes(at, want, got string) []string {
	if want == got {
		return nil
	}
	n := 0
	for n < len(want) && n < len(got) && want[n] == got[n] {
		n++
	}
	const before, behind = 20, 60
	part := func(s string) string { return s[max(0, n-before):min(len(s), n+behind)] }
	return []string{fmt.Sprintf("%s: differs at byte %d: got %q, want %q", at, n, part(got), part(want))}
}

// checkRawData compares a stream's data byte for byte.
func (w *Want) checkRawData(got []string) (faults []string) {
	if w.RawData == nil {
		return nil
	}
	for i := range min(len(w.RawData), len(got)) {
		data := got[i]
		if data == `"[DONE]"` { // as readStream has it
			data = "[DONE]"
		}
		faults = append(faults, differBytes(fmt.Sprintf("data %d of the stream", i), w.RawData[i], data)...)
	}
	if len(w.RawData) != len(got) {
		faults = append(faults, fmt.Sprintf("the stream has data %d times, want %d", len(got), len(w.RawData)))
	}
	return faults
}

// checkReceived checks what the upstream was asked.
func (c *Case) checkReceived(b *Beyond, p *played, e *exchange, got gotten) (faults []Fault) {
	w, n := &b.Want, len(p.received)
	switch {
	case w.Requests != nil && !slices.Contains(w.Requests, n):
		return b.Level.blame(fmt.Sprintf("the upstream was asked %d times, want %s", n, strings.Trim(fmt.Sprint(w.Requests), "[]")))
	case w.Requests == nil && c.silent() && n > 0:
		faults = append(faults, faultOf("asked", "the upstream was asked, though the request is at fault"))
	case w.Requests == nil && !c.silent() && n == 0:
		return []Fault{faultOf("not_asked", "the upstream was not asked")}
	}
	if n == 0 {
		return faults
	}
	return append(faults, c.checkLast(b, p, e, got)...)
}

// checkLast compares the last request that the upstream got.
func (c *Case) checkLast(b *Beyond, p *played, e *exchange, got gotten) (faults []Fault) {
	w, last := &b.Want, p.received[len(p.received)-1]
	faults = b.Level.blame(differHeader("upstream's header", w.UpstreamHeader, last.header, p.key)...)
	if w.RawUpstream != nil {
		want := strings.ReplaceAll(*w.RawUpstream, `"$MODEL"`, upstreamModel(last.body))
		if c.protocol() != otherAPI {
			faults = append(faults, b.Level.grade(differJSON("upstream's request", []byte(want), last.body), Exact)...)
		}
		level := b.Level
		if c.protocol() == chatAPI {
			level = level.atLeast(Exact)
		}
		faults = append(faults, level.blame(differBytes("upstream's request", want, string(last.body))...)...)
	}
	if !c.wants("want/upstream.json", c.Want.Upstream != nil) {
		return faults
	}
	drop := []string{"model"}
	for _, m := range c.added(p.model, e.stream) {
		drop = append(drop, m.name)
	}
	if v, err := decode(last.body); err == nil {
		got.set("want/upstream.json", encode(without(v, drop...), "  "))
	}
	if w.Upstream == nil {
		return faults
	}
	return append(faults, b.Level.grade(differJSON("upstream's request", w.Upstream, last.body, drop...), Exact)...)
}

// upstreamModel is the model's name as the upstream was asked for it, in JSON.
func upstreamModel(body []byte) string {
	var asked struct{ Model json.RawMessage }
	_ = json.Unmarshal(body, &asked) // what is no JSON differs anyway
	return string(bytes.TrimSpace(asked.Model))
}
