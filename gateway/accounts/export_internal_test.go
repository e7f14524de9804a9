package accounts

// Of returns the price of a provider's model; ok is false where nobody knows it. The
// entry counts that says most of the provider's name, and of those the one that says
// most of the model's.
func (p *Prices) Of(provider, model string) (price Price, ok bool) {
	if e, _ := p.find(provider, model); e != nil {
		return e.Price, true
	}
	return Price{}, false
}

// Priced reports whether Price knows what answers of a provider's model cost.
func (p *Prices) Priced(provider, model string) bool {
	e, _ := p.find(provider, model)
	return e != nil && e.tariff.isMoney() && e.tariff.hasOutput
}
