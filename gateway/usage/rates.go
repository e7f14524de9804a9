package usage

// Rates are what an answer may cost at most, in 10⁻⁹ US dollars: Answer is for the answer itself, Input and Output are for
// a thousand tokens, rounded up.
type Rates struct{ Answer, Input, Output int64 }

// Most are the higher ones of two.
func (r Rates) Most(o Rates) Rates {
	return Rates{max(r.Answer, o.Answer), max(r.Input, o.Input), max(r.Output, o.Output)}
}
