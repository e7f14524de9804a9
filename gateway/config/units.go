package config

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes. The file writes it as a whole number, alone or with
// a unit: B, KB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers of 1024).
type Size int64

type unit struct {
	name string
	size int64
}

var units = []unit{
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// ParseSize reads a size such as "32MiB", "64KB" or "100".
func ParseSize(text string) (Size, error) {
	digits := strings.TrimRight(text, "BGKMi")
	scale := int64(1)
	if suffix := text[len(digits):]; suffix != "" {
		i := slices.IndexFunc(units, func(u unit) bool { return u.name == suffix })
		if i < 0 {
			return 0, errSize
		}
		scale = units[i].size
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, errSize
	}
	if n > uint64(math.MaxInt64/scale) {
		return 0, errors.New("is too large a size")
	}
	return Size(int64(n) * scale), nil
}

var errSize = errors.New("is not a size: a whole number and B, KB, MB, GB, KiB, MiB or GiB")

// String writes the size with the unit that divides it into the smallest number.
func (s Size) String() string {
	best := unit{"B", 1}
	for _, u := range units {
		if n := int64(s); n != 0 && n%u.size == 0 && u.size > best.size {
			best = u
		}
	}
	return strconv.FormatInt(int64(s)/best.size, 10) + best.name
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Duration is a time.Duration that the file writes as "100ms", "5s" or "1m30s".
type Duration time.Duration

// String writes the duration without the zero units that time.Duration adds:
// "10m" and not "10m0s".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func parseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || strings.HasSuffix(text, "0") { // it takes 0 without a unit
		return 0, errors.New("is not a duration: numbers with the units ns, us, ms, s, m or h")
	}
	return Duration(d), nil
}

// The words that [Parsers] may be instead of names.
const (
	Auto = "auto"
	None = "none"
)

// Parsers is what the file says of a target's parser: one name, a list of names,
// "auto" or "none". It is empty where the file says nothing.
type Parsers []string

// IsAuto reports whether the parser is found from the text.
func (p Parsers) IsAuto() bool { return len(p) == 1 && p[0] == Auto }

// IsNone reports whether text is not parsed.
func (p Parsers) IsNone() bool { return len(p) == 0 || len(p) == 1 && p[0] == None }

// Names returns the parsers named, none for "auto" and "none".
func (p Parsers) Names() []string {
	if p.IsAuto() || p.IsNone() {
		return nil
	}
	return p
}

// String writes them as a list for people: "hermes, pythonic".
func (p Parsers) String() string { return strings.Join(p, ", ") }
