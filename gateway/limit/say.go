package limit

import (
	"fmt"
	"strings"
	"time"
)

// Dollars writes an amount of money, in 10⁻⁹ US dollars, without zeros that say nothing.
func Dollars(nano int64) string {
	sign := ""
	if nano < 0 {
		sign, nano = "-", -nano
	}
	text := fmt.Sprintf("%s%d.%09d", sign, nano/USD, nano%USD)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// shortly writes a time without zeros: 1m, 1h30m.
func shortly(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
