package toolresult

// Reads says whether a tool only looks, by its name: search_files, getOrder. For one
// that does, an empty answer means that nothing is there. For others it means what it
// means to a Unix shell: it was done, and there is nothing to add. A name that tells
// neither, or both as find_and_replace does, is taken for a tool that acts, which
// stops nobody.
func Reads(name string) bool {
	known := lexicon()
	var first, all class
	reader := wordReader{text: []byte(name)}
	for word := reader.next(); word != nil; word = reader.next() {
		does := known[string(word)] & (reading | acting | either)
		if first == 0 {
			first = does
		}
		all |= does
	}
	return first&reading != 0 && all&acting == 0
}
