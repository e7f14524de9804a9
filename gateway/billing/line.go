package billing

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/callgate/callgate/gateway/wire"
)

// appendLine appends a row's [Record] in JSON, and the end of a line: what encoding/json writes, in a tenth of
// its time.
func appendLine(b []byte, r *Row) []byte {
	texts := func(key, s string) { b = wire.AppendQuoted(append(b, key...), s) }
	numbers := func(key string, n int64) { b = strconv.AppendInt(append(b, key...), n, 10) }
	b = slices.Grow(b, int(r.size()))
	texts(`{"id":`, r.ID)
	texts(`,"request":`, r.Request)
	b = append(r.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano), '"')
	texts(`,"key":`, r.Key)
	texts(`,"team":`, r.Team)
	if len(r.Labels) > 0 {
		key := `,"labels":{`
		for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
			texts(key, name)
			texts(`:`, r.Labels[name])
			key = `,`
		}
		b = append(b, '}')
	}
	texts(`,"session":`, r.Session)
	texts(`,"model":`, r.Model)
	texts(`,"provider":`, r.Provider)
	texts(`,"served":`, r.Served)
	texts(`,"arm":`, r.Arm)
	texts(`,"purpose":`, r.Purpose)
	numbers(`,"input_tokens":`, r.Input)
	numbers(`,"cached_tokens":`, r.Cached)
	numbers(`,"cache_write_tokens":`, r.CacheWrite)
	numbers(`,"output_tokens":`, r.Output)
	numbers(`,"reasoning_tokens":`, r.Reasoning)
	if r.Priced {
		numbers(`,"cost_nano_usd":`, r.Nano)
		b = append(append(append(b, `,"cost_usd":"`...), USD(r.Nano)...), '"')
	} else {
		b = append(b, `,"cost_nano_usd":null,"cost_usd":null`...)
	}
	texts(`,"price_version":`, r.PriceVersion)
	b = strconv.AppendBool(append(b, `,"estimated":`...), r.Estimated)
	numbers(`,"tools":`, int64(r.Tools))
	texts(`,"status":`, r.Status)
	numbers(`,"took_ms":`, r.Took.Milliseconds())
	return append(b, '}', '\n')
}
