package console

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/history"
)

// share is a part of all, from 0 to 1.
func share(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return min(float64(part)/float64(all), 1)
}

// percent is a share with two digits. What is more than nothing is not shown as nothing, nor what is
// less than all as all.
func percent(share float64) string {
	p := share * 100
	switch {
	case p <= 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	case p < 9.95:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	case p > 99 && p < 100:
		return "> 99 %"
	}
	return fmt.Sprintf("%.0f %%", p)
}

// grouped is a count, with its thousands apart.
func grouped[N ~int | ~int64 | ~uint64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign, digits := "", s
	if strings.HasPrefix(s, "-") {
		sign, digits = "-", s[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:] // a narrow space that does not break
	}
	return sign + digits
}

// large is a number of tokens in three digits.
func large(n uint64) string {
	for _, unit := range []struct {
		of   uint64
		name string
	}{{1e9, " billion"}, {1e6, " million"}} {
		if n >= unit.of {
			return fmt.Sprintf("%.3g%s", float64(n)/float64(unit.of), unit.name)
		}
	}
	return grouped(n)
}

// plural is a number of things.
func plural[N ~int | ~int64 | ~uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return grouped(n) + " " + thing + "s"
}

// times is how often.
func times[N ~int | ~int64 | ~uint64](n N) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return grouped(n) + " times"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func seconds(s float64) string { return brief(time.Duration(s * float64(time.Second))) }

// amount is money, or what else a budget is of.
func amount(x float64, unit string) string {
	sign := ""
	if x < 0 {
		sign, x = "−", -x
	}
	digits := 2
	if x > 0 && x < 0.995 {
		digits = min(2+max(int(-math.Floor(math.Log10(x)))-1, 0), 6)
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	whole, rest, _ := strings.Cut(text, ".")
	for len(rest) > 2 && strings.HasSuffix(rest, "0") {
		rest = rest[:len(rest)-1]
	}
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = grouped(n)
	}
	if rest != "" {
		whole += "." + rest
	}
	switch unit {
	case "USD":
		return sign + "$" + whole
	case "EUR":
		return sign + "€" + whole
	case "tokens", "requests":
		return sign + grouped(int64(x)) + " " + unit
	}
	return sign + whole + " " + unit
}

func targetName(t history.Target) string { return t.Provider + "/" + t.Model }

func targetQuery(t history.Target) string { return url.QueryEscape(targetName(t)) }
