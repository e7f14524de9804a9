package messages

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/internal/upstreamerr"
)

// Clients compact the conversation when a request is refused for its length, and know that by
// Anthropic's words: "prompt is too long: 208310 tokens > 200000 maximum".

// limit finds the number that is the limit, by the words around it.
var limit = regexp.MustCompile(`(?i)(?:maximum(?: context length| number of tokens allowed| model length)?|max_model_len|context (?:size|length|window|limit)|limit|allowed|length should be \[\d+,)[^0-9]{0,24}(\d[\d,]{2,})|(\d[\d,]{2,})\s*(?:tokens?\s*)?(?:maximum|max|limit)`)

var number = regexp.MustCompile(`\d[\d,]{2,}`)

// overflow is a message about a prompt that is too long in Anthropic's words, and any other as
// it is.
func overflow(text, code string) string {
	if code != "context_length_exceeded" && !upstreamerr.TooLong(text) || strings.HasPrefix(text, "prompt is too long:") {
		return text
	}
	most := 0
	if m := limit.FindStringSubmatch(text); m != nil {
		most = digits(m[1] + m[2])
	}
	var all []int
	for _, n := range number.FindAllString(text, -1) {
		all = append(all, digits(n))
	}
	if most == 0 || len(all) == 0 {
		return "prompt is too long: " + text
	}
	used := slices.Max(all)
	if used <= most { // the upstream does not say how long it is
		used = most + 1
	}
	return "prompt is too long: " + strconv.Itoa(used) + " tokens > " + strconv.Itoa(most) + " maximum"
}

func digits(s string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	return n
}
