package keys

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/internal/digest"
	"github.com/callgate/callgate/internal/plaintext"
)

// Bounds on keys and teams.
const (
	MaxName    = 64       // bytes of a name
	MaxTokens  = 10000000 // of a scope
	MaxList    = 256      // patterns or networks
	maxPattern = 256      // bytes
	maxLabels  = 16
	maxLabel   = 128 // bytes of a label's value
	maxSecrets = 5   // that are valid at once
	maxLimits  = 8   // of a key or a team
)

// Problem is what is wrong with one field of a key or a team.
type Problem struct {
	// Field is its name in JSON and YAML, and Label the name of the label in it, "" for none.
	Field, Label string
	// Index is the place in a list, -1 for the field as a whole.
	Index int
	// Message says what is wrong, where Wrong is set behind that value.
	Message string
	// Wrong is the value, where Message does not name it; nil where it does.
	Wrong *string
}

// Say is what is wrong, with the value as show writes it.
func (p Problem) Say(show func(string) string) string {
	if p.Wrong == nil {
		return p.Message
	}
	return show(*p.Wrong) + " " + p.Message
}

// Quote writes a value for a message.
func Quote(value string) string { return strconv.Quote(plaintext.Excerpt(value, maxShown)) }

// maxShown is how many bytes of a value a message shows.
const maxShown = 80

// At is the place: "max_tokens", "cidr[1]", "labels.a".
func (p Problem) At() string {
	switch {
	case p.Index >= 0:
		return fmt.Sprintf("%s[%d]", p.Field, p.Index)
	case p.Label != "":
		return p.Field + "." + plaintext.Excerpt(plaintext.Line(p.Label), MaxName)
	}
	return p.Field
}

func whole(field, format string, args ...any) Problem {
	return Problem{Field: field, Index: -1, Message: fmt.Sprintf(format, args...)}
}

// CheckName says what is wrong with the name of a key or a team, behind the name; "" for nothing.
func CheckName(name string) string {
	if name == "" || len(name) > MaxName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) || strings.TrimSpace(name) != name {
		return fmt.Sprintf("is not a name: one has 1 to %d printable characters, and no space at its ends", MaxName)
	}
	return ""
}

// Check says what is wrong with a scope.
func (s *Scope) Check() (out []Problem) {
	out = append(checkList("models", s.Models, checkPattern), checkList("tools", s.Tools, checkPattern)...)
	if s.MaxTokens < 0 || s.MaxTokens > MaxTokens {
		out = append(out, whole("max_tokens", "%d is out of range; it may be from 1 to %d", s.MaxTokens, MaxTokens))
	}
	out = append(out, checkLimits(s.Limits)...)
	if len(s.Labels) > maxLabels {
		out = append(out, whole("labels", "there are %d labels; at most %d may be", len(s.Labels), maxLabels))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		value := s.Labels[name]
		if name == "" || len(name) > MaxName || strings.ContainsFunc(name, func(c rune) bool { return !isLabelRune(c) }) {
			out = append(out, Problem{"labels", name, -1, fmt.Sprintf("is not the name of a label: one has 1 to %d characters of a-z, A-Z, 0-9, _, . and -", MaxName), &name})
		} else if len(value) > maxLabel || !utf8.ValidString(value) || strings.ContainsFunc(value, func(c rune) bool { return !unicode.IsPrint(c) }) {
			out = append(out, Problem{"labels", name, -1, fmt.Sprintf("is not the value of a label: one has at most %d printable characters", maxLabel), &value})
		}
	}
	return out
}

// Check says what is wrong with what a key may do. Its name and team are checked elsewhere.
func (k *Key) Check() []Problem {
	out := append(k.Scope.Check(), checkList("cidr", k.CIDR, func(text string) string { _, problem := ParseNetwork(text); return problem })...)
	return append(out, checkList("arms", k.Arms, func(text string) string {
		if rollout, arm, ok := strings.Cut(text, "/"); text != "*" && (!ok || rollout == "" || arm == "") {
			return "is not an arm: write rollout/arm, with * for any text"
		}
		return checkPattern(text)
	})...)
}

// checkLimits says what is wrong with the first limit that is.
func checkLimits(list []limit.Spec) []Problem {
	if len(list) > maxLimits {
		return []Problem{whole("limits", "there are %d limits; at most %d may be", len(list), maxLimits)}
	}
	for i := range list {
		problem := limit.Check(list, i)
		for _, m := range list[i].Models {
			if problem == "" && len(list[i].Models) <= MaxList {
				if problem = checkPattern(m); problem != "" {
					problem = "models: " + Quote(m) + " " + problem
				}
			}
		}
		if len(list[i].Models) > MaxList {
			problem = fmt.Sprintf("models has %d entries; at most %d may be", len(list[i].Models), MaxList)
		}
		if problem != "" {
			return []Problem{{"limits", "", i, problem, nil}}
		}
	}
	return nil
}

func isLabelRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.-", c)
}

func checkList(field string, list []string, check func(string) string) (out []Problem) {
	if len(list) > MaxList {
		return []Problem{whole(field, "the list has %d entries; at most %d may be", len(list), MaxList)}
	}
	for i, text := range list {
		switch problem := check(text); {
		case problem != "":
			out = append(out, Problem{field, "", i, problem, &text})
		case slices.Index(list, text) < i:
			out = append(out, Problem{field, "", i, "is in the list twice", &text})
		}
	}
	return out
}

func checkPattern(text string) string {
	if text == "" || len(text) > maxPattern || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return fmt.Sprintf("is not a name or a pattern: one has 1 to %d printable characters", maxPattern)
	}
	return ""
}

// ParseNetwork reads a network, or one address. problem says, behind the text, what is wrong with one that is neither.
func ParseNetwork(text string) (p netip.Prefix, problem string) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), ""
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || p.Addr().Is4In6():
		return p, "is not a network; write for example 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7"
	case p.Masked() != p:
		return p, "has bits behind the prefix; write the first address of the network: " + p.Masked().String()
	}
	return p, ""
}

// ParseTime reads when a key ends: RFC 3339, or a date, which is its first moment in UTC.
func ParseTime(text string) (time.Time, string) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	if t = t.UTC(); err != nil || t.Year() < 2000 || t.Year() > 9999 { // JSON has no other years
		return time.Time{}, fmt.Sprintf("the value %.40q is not a time; write for example 2027-01-31 or 2027-01-31T18:00:00Z", text)
	}
	return t, ""
}

// IsHash reports whether a text is the hash of a key: "sha256:" and 64 digits from 0-9 and a-f.
func IsHash(text string) bool {
	_, ok := digest.Parse(text)
	return ok
}
