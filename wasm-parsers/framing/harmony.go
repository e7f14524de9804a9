package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

const (
	startTag   = "<|start|>"
	channelTag = "<|channel|>"
	messageTag = "<|message|>"
	assistant  = "assistant"
	recipient  = "to="
	functions  = "functions."
)

// Harmony reads the form of gpt-oss, as OpenAI's harmony format describes it. The
// recipient of a message may stand in the header's role or in its channel, and the
// ends of messages are often missing, because servers stop at them.
func Harmony() sdk.Spec {
	f := &format{
		markers: []marker{
			{startTag, heads, between | inHeader | inCall},
			{startTag + assistant, heads, inText},
			{channelTag, heads, between | inCall},
			{channelTag + "analysis", heads, inText},
			{channelTag + "commentary", heads, inText},
			{channelTag + "final", heads, inText},
			{messageTag, endsHead, between | inHeader},
			{"<|end|>", skips, anywhere},
			{"<|call|>", skips, anywhere},
			{"<|return|>", skips, anywhere},
			// Headers whose first marker is missing.
			{assistant, heads, between},
			{"analysis", heads, between},
			{"commentary", heads, between},
			{"final", heads, between},
			{recipient, heads, between},
		},
		read:   readHarmony,
		said:   harmonySaid,
		braced: true,
		body:   argsJSON,
	}
	return spec(abi.Parser{
		Name:     "harmony",
		Aliases:  []string{"gpt-oss", "gpt_oss", "openai"},
		Priority: 96,
		Formats: []string{
			"<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>ARGS<|call|>",
			"<|start|>assistant to=functions.NAME<|channel|>commentary json<|message|>ARGS<|call|>",
		},
		Example:  `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>`,
		Triggers: []string{channelTag, startTag + assistant, "<|end|>" + startTag + assistant},
		Starts: []string{
			recipient, assistant + channelTag, "analysis<|", "commentary<|", "final<|",
			"analysis to=functions.", "commentary to=functions.", "final to=functions.",
		},
		Models: []string{"*gpt-oss*"},
	}, f, harmonyHead)
}

// harmonyHead wants a header, as far as it tells harmony from text and from Muse,
// whose headers have no channel. The literals without a channel's marker are sure.
func harmonyHead(head []byte) sdk.Verdict {
	if len(head) == 0 {
		return sdk.Maybe
	}
	switch markup.Match(head, "<|end|>") {
	case sdk.Yes:
		head = head[len("<|end|>"):]
	case sdk.Maybe:
		return sdk.Maybe
	}
	if v := markup.MatchAny(head, assistant+channelTag,
		"analysis<|", "commentary<|", "final<|",
		"analysis to=functions.", "commentary to=functions.", "final to=functions."); v != sdk.No {
		return v
	}
	if rest, found := bytes.CutPrefix(head, []byte(channelTag)); found {
		return channelHead(rest)
	}
	if rest, found := bytes.CutPrefix(head, []byte(recipient)); found {
		return recipientHead(rest)
	}
	rest, found := bytes.CutPrefix(head, []byte(startTag+assistant))
	if !found {
		return markup.MatchAny(head, channelTag, recipient, startTag+assistant)
	}
	v := markup.MatchAny(rest, startTag, channelTag, messageTag, "analysis", "commentary", "final", recipient+functions)
	if v != sdk.No {
		return v
	}
	rest = chars.SkipSpace(rest)
	if to, found := bytes.CutPrefix(rest, []byte(recipient)); found {
		return recipientHead(to)
	}
	return markup.MatchAny(rest, recipient, channelTag)
}

// channelHead reads what follows a channel's marker: a known channel, or a word and
// the end of the header.
func channelHead(rest []byte) sdk.Verdict {
	if v := markup.MatchAny(rest, "analysis", "commentary", "final"); v == sdk.Yes {
		return v
	}
	n := 0
	for n < len(rest) && markup.IsWord(rest[n]) {
		n++
	}
	if n == len(rest) {
		return sdk.Maybe
	}
	return markup.MatchAny(rest[n:], messageTag, "<|constrain|>", " to=")
}

// recipientHead reads what follows to=. Muse has the end of the header behind the
// recipient; harmony has the channel there, or an offered function in front.
func recipientHead(rest []byte) sdk.Verdict {
	if v := markup.Match(rest, functions); v != sdk.No {
		return v
	}
	name := word(rest)
	behind := chars.SkipSpace(rest[len(name):])
	if len(behind) == 0 {
		return sdk.Maybe
	}
	if !validName(name) {
		return sdk.No
	}
	return markup.MatchAny(behind, channelTag, "<|constrain|>")
}

// readHarmony reads a header. Of what stands where it should not, such as a second
// channel behind the recipient, nothing gets into a name.
func readHarmony(header []byte) message {
	role, rest := harmonyRole(header)
	if role == nil {
		return message{kind: isContent, broken: bytes.Contains(header, []byte(recipient+functions))}
	}
	rest = lastChannel(rest)
	channel := role
	if _, after, found := bytes.Cut(rest, []byte(channelTag)); found {
		channel = word(chars.SkipSpace(after))
	}
	if name := harmonyCall(rest); validName(name) {
		return message{kind: isCall, name: string(name)}
	}
	if bytes.HasPrefix(channel, []byte("analysis")) {
		return message{kind: isReasoning}
	}
	return message{kind: isContent, broken: bytes.Contains(rest, []byte(recipient+functions))}
}

// harmonySaid is the text behind a channel whose <|message|> is missing, as the non-strict mode of
// OpenAI's own parser reads it. A word alone may be the type of a content, and to= the beginning of
// a recipient.
func harmonySaid(header []byte) []byte {
	rest := header[bytes.LastIndex(header, []byte(channelTag))+1:]
	for _, channel := range [...]string{"analysis ", "commentary ", "final "} {
		text, found := bytes.CutPrefix(rest, []byte(channelTag[1:]+channel))
		text = chars.TrimSpace(text)
		if found && bytes.IndexByte(text, ' ') > 0 && !bytes.ContainsAny(text, "<>") && !bytes.Contains(text, []byte(recipient)) {
			return text
		}
	}
	return nil
}

// lastChannel is a header's rest without the channels in front of the last one, which counts. One
// that says less than the recipient in front of it, which calls, does not.
func lastChannel(rest []byte) []byte {
	first, last := bytes.Index(rest, []byte(channelTag)), bytes.LastIndex(rest, []byte(channelTag))
	if first == last {
		return rest
	}
	name := word(chars.SkipSpace(rest[last+len(channelTag):]))
	if harmonyCall(rest[last:]) == nil && bytes.HasPrefix(name, []byte("commentary")) && harmonyCall(rest[:last]) != nil {
		return rest
	}
	return append(bytes.Clone(rest[:first]), rest[last:]...)
}

// harmonyRole gives what follows the role assistant in the same word, which is a
// channel whose marker is missing or nothing, and the rest of the header. A header
// of another role has no calls; it gives nil.
func harmonyRole(header []byte) (glued, rest []byte) {
	rest = chars.SkipSpace(bytes.TrimPrefix(header, []byte(startTag)))
	role := word(rest)
	switch {
	case bytes.HasPrefix(role, []byte(assistant)):
		return role[len(assistant):], rest[len(assistant):]
	case len(role) == 0, bytes.HasPrefix(rest, []byte(recipient)):
		return []byte{}, rest
	case string(role) == "analysis", string(role) == "commentary", string(role) == "final":
		return role, rest[len(role):]
	}
	return nil, rest
}

// harmonyCall gives the name of the function that the header calls, or nothing:
// messages to the user and to the model itself are no calls.
func harmonyCall(rest []byte) []byte {
	to := headerRecipient(rest)
	switch string(to) {
	case "user", "all", assistant:
		return nil
	}
	return bytes.TrimPrefix(to, []byte(functions))
}

// headerRecipient is the word behind the first to= of a header. One that is glued to
// the word in front of it must be a function.
func headerRecipient(rest []byte) []byte {
	for from := 0; ; {
		i := bytes.Index(rest[from:], []byte(recipient))
		if i < 0 {
			return nil
		}
		i += from
		from = i + len(recipient)
		if i == 0 || rest[i-1] == '>' || chars.IsSpace(rest[i-1]) || bytes.HasPrefix(rest[from:], []byte(functions)) {
			return word(chars.SkipSpace(rest[from:]))
		}
	}
}
