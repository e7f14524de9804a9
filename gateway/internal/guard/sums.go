package guard

// reckons reports whether a text has numbers to reckon with: "18% of 240", "12 * 7". What
// an answer makes of them no tool has to bring.
func (r *reading) reckons() bool {
	numbers := 0
	sign := false
	for i := 0; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case isDigit(c) && (i == 0 || !isFigure(r.text, i-1)):
			numbers++
		case c == '%', (c == '+' || c == '/') && i > 0 && r.text[i-1] == ' ':
			sign = sign || numbers > 0
		}
	}
	return sign && numbers > 1
}
