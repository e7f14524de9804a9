package region

// Keys is a set of keys. A call mostly has a few, which are looked through; in a guest that
// is faster than a map, and it keeps its memory.
type Keys struct {
	text []byte // all keys, one behind the other
	ends []int  // where each ends
	many map[string]bool
}

// fewKeys is how many keys are looked through.
const fewKeys = 16

// Clear leaves none in it.
func (k *Keys) Clear() { k.text, k.ends, k.many = k.text[:0], k.ends[:0], nil }

// Has reports whether a key is in it.
func (k *Keys) Has(key []byte) bool {
	if k.many != nil {
		return k.many[string(key)]
	}
	from := 0
	for _, end := range k.ends {
		if string(k.text[from:end]) == string(key) {
			return true
		}
		from = end
	}
	return false
}

// Add puts a key in.
func (k *Keys) Add(key []byte) {
	if len(k.ends) == fewKeys && k.many == nil {
		k.many = map[string]bool{}
		from := 0
		for _, end := range k.ends {
			k.many[string(k.text[from:end])] = true
			from = end
		}
	}
	if k.many != nil {
		k.many[string(key)] = true
		return
	}
	k.text = append(k.text, key...)
	k.ends = append(k.ends, len(k.text))
}
