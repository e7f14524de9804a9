package guard

// reasons are the signals that were found of an answer, and the tool that they point to. Each signal
// has a file of its own, which adds to them.
type reasons struct {
	signals []Signal
	tool    string  // that should have been called
	best    float64 // the weight that tool was found with
	several bool    // two tools were found with it
}

// add adds a signal, or makes the one of that name stronger.
func (r *reasons) add(name string, weight float64, detail string) {
	for i := range r.signals {
		if s := &r.signals[i]; s.Name == name {
			if weight*weight > s.Weight*s.Weight {
				s.Weight, s.Detail = weight, detail
			}
			return
		}
	}
	r.signals = append(r.signals, Signal{name, weight, detail})
}

// prefer remembers the tool that should have been called, unless two are as likely.
func (r *reasons) prefer(name string, weight float64) {
	switch {
	case weight > r.best, weight == r.best && r.tool == "" && !r.several: // "Done! I've deleted it."
		r.tool, r.best, r.several = name, weight, false
	case weight == r.best && name != "" && r.tool != name:
		r.tool, r.several = "", true // two are as likely
	}
}

// has reports whether there is a signal of at least a weight.
func (r *reasons) has(name string, weight float64) bool {
	for _, s := range r.signals {
		if s.Name == name && s.Weight >= weight {
			return true
		}
	}
	return false
}
