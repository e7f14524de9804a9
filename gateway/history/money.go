package history

import (
	"slices"
	"time"
)

// Money is what requests have cost and saved, in one currency.
type Money struct {
	Currency string // its code of ISO 4217, such as USD; "" for no money at all
	Spent    float64
	// SavedPrompts is what upstreams' caches of prompts have saved; below 0 where writing has cost
	// more. SavedAnswers is what answers would have cost that the response cache gave.
	SavedPrompts, SavedAnswers float64
}

// Plus is the sum with money of the same currency; of another one nothing is added.
func (m Money) Plus(n Money) Money {
	switch m.Currency {
	case "":
		return n
	case n.Currency:
		m.Spent, m.SavedPrompts, m.SavedAnswers = m.Spent+n.Spent, m.SavedPrompts+n.SavedPrompts, m.SavedAnswers+n.SavedAnswers
	}
	return m
}

// purse is the money of one currency over a week, in all windows at once.
type purse struct {
	currency string
	rings    [len(windows)][]coin
}

type coin struct {
	step int64
	Money
}

// pay adds money. A currency more than there is room for is left out: prices have one or two.
func (h *History) pay(now time.Time, m Money) {
	if m.Currency == "" {
		return
	}
	i := slices.IndexFunc(h.money, func(p *purse) bool { return p.currency == m.Currency })
	if i < 0 {
		if i = len(h.money); i == maxCurrencies {
			return
		}
		h.money = append(h.money, &purse{currency: m.Currency})
	}
	p := h.money[i]
	for k := range p.rings {
		w := &windows[k]
		if p.rings[k] == nil {
			p.rings[k] = make([]coin, w.Steps)
		}
		step := w.step(now)
		b := &p.rings[k][uint64(step)%uint64(w.Steps)]
		if b.step != step {
			*b = coin{step: step, Money: Money{Currency: p.currency}}
		}
		b.Money = b.Plus(m)
	}
}

// sum is the money in a window that ends now.
func (p *purse) sum(now time.Time, w Window) Money {
	out, last := Money{Currency: p.currency}, w.step(now)
	for _, b := range p.rings[w.ring] {
		if b.step <= last && b.step > last-int64(w.Steps) {
			out = out.Plus(b.Money)
		}
	}
	return out
}
