package braces

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// key reads a key, bare or in quotes of any sort, and the colon behind it. n is the
// length of all.
func (p *parser) key(b []byte) (key []byte, n int, v sdk.Verdict) {
	if key, v := p.oddKey(b); v != sdk.No {
		return key, len(key) + 1, v
	}
	switch quote := markup.Match(b, p.quote); {
	case quote == sdk.Maybe:
		return nil, 0, sdk.Maybe
	case quote == sdk.Yes:
		key, n, v = quotedKey(b, p.quote)
	case b[0] == '"' || b[0] == '\'':
		key, n, v = jsonKey(b)
	default:
		return bareKey(b)
	}
	if v != sdk.Yes {
		return nil, 0, v
	}
	rest := chars.SkipSpace(b[n:])
	switch {
	case len(key) == 0, len(b)-n-len(rest) > maxSpace:
		return nil, 0, sdk.No
	case len(rest) == 0:
		return nil, 0, sdk.Maybe
	case rest[0] != ':':
		return nil, 0, sdk.No
	}
	return key, len(b) - len(rest) + 1, sdk.Yes
}

// oddKey reads the bare name of a parameter that bareKey could not read, with a
// colon in it for example.
func (p *parser) oddKey(b []byte) ([]byte, sdk.Verdict) {
	if p.Tool == nil || len(p.stack) != 1 {
		return nil, sdk.No
	}
	v := sdk.No
	for i := range p.Tool.Params {
		name := p.Tool.Params[i].Name
		if !isOdd(name) {
			continue
		}
		switch markup.Match(b, name) {
		case sdk.Maybe:
			v = sdk.Maybe
		case sdk.Yes:
			if len(b) == len(name) {
				v = sdk.Maybe
			} else if b[len(name)] == ':' {
				return b[:len(name)], sdk.Yes
			}
		}
	}
	return nil, v
}

// isOdd tells a name with bytes that a bare key may not hold.
func isOdd(name string) bool {
	for _, c := range []byte(name) {
		if c == ':' || !isKey(c) {
			return len(name) <= maxKey
		}
	}
	return false
}

// quotedKey reads a key between the format's quotes.
func quotedKey(b []byte, quote string) (key []byte, n int, v sdk.Verdict) {
	text := b[len(quote):min(len(b), 2*len(quote)+maxKey)]
	end := bytes.Index(text, []byte(quote))
	switch {
	case end >= 0:
		return text[:end], end + 2*len(quote), sdk.Yes
	case len(text) < len(quote)+maxKey:
		return nil, 0, sdk.Maybe
	}
	return nil, 0, sdk.No
}

// jsonKey reads a key between quotes of JSON or Python.
func jsonKey(b []byte) (key []byte, n int, v sdk.Verdict) {
	for i := 1; i < min(len(b), maxKey); i++ {
		switch b[i] {
		case '\\':
			i++
		case b[0]:
			quoted, _, ok := relaxed.Value(b[:i+1], 0)
			if ok {
				key, ok = relaxed.Unquote(quoted)
			}
			if !ok {
				return nil, 0, sdk.No
			}
			return key, i + 1, sdk.Yes
		}
	}
	if len(b) < maxKey {
		return nil, 0, sdk.Maybe
	}
	return nil, 0, sdk.No
}

// bareKey reads a key without quotes up to its colon.
func bareKey(b []byte) (key []byte, n int, v sdk.Verdict) {
	for i, c := range b[:min(len(b), maxKey+1)] {
		switch {
		case c == ':':
			key = bytes.TrimRight(b[:i], " \t")
			if len(key) == 0 {
				return nil, 0, sdk.No
			}
			return key, i + 1, sdk.Yes
		case !isKey(c):
			return nil, 0, sdk.No
		}
	}
	if len(b) <= maxKey {
		return nil, 0, sdk.Maybe
	}
	return nil, 0, sdk.No
}

// isKey tells what a bare key may hold besides its colon.
func isKey(c byte) bool {
	switch c {
	case '{', '}', ',', '"', '<', 0x7f:
		return false
	}
	return c >= ' '
}
