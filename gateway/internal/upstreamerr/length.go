package upstreamerr

import "regexp"

// tooLong are the words of upstreams for a prompt that does not fit.
var tooLong = regexp.MustCompile(`(?i)maximum context length|context[ _]length[ _]exceeded|context (?:size|window|limit)|exceeds? (?:the )?(?:available |model'?s? )?(?:context|maximum number of tokens)|maximum number of tokens allowed|range of input length|prompt is too long|prompt \(length|too many tokens|longer than the (?:model'?s )?context|token limit exceeded|exceeded model token limit|reduce the length of the (?:messages|prompt)`)

// TooLong reports whether an upstream's words say that the prompt is too long for the model.
func TooLong(text string) bool { return tooLong.MatchString(text) }
