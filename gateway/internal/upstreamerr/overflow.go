package upstreamerr

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/internal/plaintext"
)

// Overflow is what an upstream says of a prompt that does not fit into the model's context. Numbers that
// it does not name are 0.
type Overflow struct{ Used, Limit int } // tokens

// CodeOverflow is OpenAI's code for it.
const CodeOverflow = "context_length_exceeded"

// maxRead is how many bytes of an upstream's words are read for what they mean: half of them at each end.
const maxRead = 8 << 10

// isOverflow are the words of upstreams for a prompt that does not fit.
var isOverflow = regexp.MustCompile(`(?i)maximum context length|context[ _]length[ _]exceeded|context (?:size|window|limit)|exceeds? (?:the )?(?:available |model'?s? )?(?:context|maximum number of tokens)|maximum number of tokens allowed|range of input length|prompt is too long|prompt \(length|too many tokens|longer than the (?:model'?s )?context|token limit exceeded|exceeded model token limit|reduce the length of the (?:messages|prompt)`)

// limit finds the number that is the limit, by the words around it.
var limit = regexp.MustCompile(`(?i)(?:maximum(?: context length| number of tokens allowed| model length)?|max_model_len|context (?:size|length|window|limit)|limit|allowed|length should be \[\d+,)[^0-9]{0,24}(\d[\d,]{2,})|(\d[\d,]{2,})\s*(?:tokens?\s*)?(?:maximum|max|limit)`)

var longNumber = regexp.MustCompile(`\d[\d,]{2,}`)

// ReadOverflow reads whether an upstream has refused a prompt for its length, by its words and codes.
func ReadOverflow(message string, codes ...string) (o Overflow, ok bool) {
	message = plaintext.Ends(message, maxRead, maxRead/2)
	if !slices.Contains(codes, CodeOverflow) && !isOverflow.MatchString(message) {
		return o, false
	}
	if m := limit.FindStringSubmatch(message); m != nil {
		o.Limit = digits(m[1] + m[2])
	}
	for _, n := range longNumber.FindAllString(message, -1) {
		o.Used = max(o.Used, digits(n))
	}
	if o.Used <= o.Limit { // the upstream does not say how long it is
		o.Used = 0
	}
	return o, true
}

// digits is a number of tokens, 0 for what is too long for one: the id of a request, or a time.
func digits(s string) int {
	const most = 9
	plain := strings.ReplaceAll(s, ",", "")
	if len(plain) > most {
		return 0
	}
	n, _ := strconv.Atoi(plain)
	return n
}
