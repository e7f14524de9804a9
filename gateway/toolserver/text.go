package toolserver

import (
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/internal/redact"
)

// maxWords is how much of a server's own words an error has, in bytes.
const maxWords = 300

// CutMark stands behind [Words] that were cut.
const CutMark = "…"

// Scrub takes secrets out of a text, also the beginning of one in front of the last [CutMark], which the words
// were cut in the midst of.
func Scrub(secrets redact.Secrets, text string) string {
	text = secrets.Out(text)
	if at := strings.LastIndex(text, CutMark); at >= 0 {
		text = secrets.OutOfCut(text[:at]) + text[at:]
	}
	return text
}

// Cut shortens text to at most limit bytes of whole characters, and says how many bytes are
// missing. What is no UTF-8 becomes U+FFFD.
func Cut(text string, limit int) (string, int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text, 0
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], len(text) - end
}

// Words are a server's own words, fit for a line of an error: without control characters and a
// final dot, and bounded.
func Words(text string) string {
	text, _ = Cut(text, 8*maxWords)
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	text, cut := Cut(strings.TrimRight(strings.Join(strings.Fields(text), " "), "."), maxWords)
	if cut > 0 {
		text += CutMark
	}
	return text
}
