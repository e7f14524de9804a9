package run

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/callgate/callgate/gateway/wire"
)

// sumUsage is the sum of what upstreams have counted, member by member; nil if none has.
func sumUsage(list []json.RawMessage) (sum []byte) {
	for _, u := range list {
		switch {
		case u == nil:
		case sum == nil:
			sum = u
		default:
			sum = addObjects(sum, u, maxUsageDepth)
		}
	}
	return sum
}

// maxUsageDepth is how deep the details of a usage nest at most.
const maxUsageDepth = 4

// addObjects adds the numbers of b to those of a. Of what is no number that of b counts.
func addObjects(a, b []byte, depth int) []byte {
	others := map[string]wire.Span{}
	wire.Members(b, 0, func(key []byte, v wire.Span) bool {
		others[string(key)] = v
		return true
	})
	out := []byte{'{'}
	wire.Members(a, 0, func(key []byte, v wire.Span) bool {
		name := string(key)
		out = append(wire.AppendKey(out, name), addValues(v.Of(a), others[name].Of(b), depth)...)
		delete(others, name)
		return true
	})
	wire.Members(b, 0, func(key []byte, v wire.Span) bool {
		if name := string(key); others[name] == v {
			out = append(wire.AppendKey(out, name), v.Of(b)...)
		}
		return true
	})
	return append(out, '}')
}

func addValues(a, b []byte, depth int) []byte {
	switch {
	case len(b) == 0 || string(b) == "null":
		return a
	case len(a) == 0 || string(a) == "null":
		return b
	case a[0] == '{' && b[0] == '{' && depth > 0:
		return addObjects(a, b, depth-1)
	}
	if sum, ok := addWhole(a, b); ok {
		return strconv.AppendInt(nil, sum, 10)
	}
	if m, err := strconv.ParseFloat(string(a), 64); err == nil {
		if n, err := strconv.ParseFloat(string(b), 64); err == nil {
			return strconv.AppendFloat(nil, m+n, 'g', -1, 64)
		}
	}
	return bytes.Clone(b)
}

// addWhole adds two whole numbers whose sum is one of 64 bits.
func addWhole(a, b []byte) (sum int64, ok bool) {
	m, err := strconv.ParseInt(string(a), 10, 64)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	sum = m + n
	return sum, err == nil && (sum > m) == (n > 0)
}
