// Package glossary says in words what the names mean that the gateway gives to what it has found wrong,
// repaired and left out, and to what failed: in headers such as x-callgate-warnings, in errors, in metrics,
// in the log and on the operator's page. It is the one list of them: what is said and has no words here
// fails a test of package cli, and docs/glossary.md is made of it.
package glossary

import "strings"

// Term is a name and what it means.
type Term struct {
	Name string
	// Behind is what stands behind the name and a colon, in capitals; "" for nothing. What stands in
	// brackets may be missing.
	Behind string
	// Means is a sentence, or for a repair what was repaired.
	Means string
}

// Says is the name with what stands behind it.
func (t *Term) Says() string {
	switch {
	case t.Behind == "":
		return t.Name
	case strings.HasPrefix(t.Behind, "["):
		return t.Name + "[:" + t.Behind[1:]
	}
	return t.Name + ":" + t.Behind
}

// words are the terms by their names.
type words map[string]string

func wordsOf(lists ...[]Term) words {
	w := words{}
	for _, list := range lists {
		for i := range list {
			w[list[i].Name] = list[i].Means
		}
	}
	return w
}

var ( //nolint:gochecknoglobals // tables
	ofCode    = wordsOf(Codes)
	ofFault   = wordsOf(Faults)
	ofRepair  = wordsOf(Repairs)
	ofWarning = wordsOf(Faults, Warnings)
	ofSignal  = wordsOf(Signals)
)

// Code is what has happened, by the code of an error; "" for a code that is none.
func Code(code string) string { return ofCode[code] }

// Fault is what was wrong, by the name of the fault; "" for a name that is none.
func Fault(name string) string { return ofFault[name] }

// Repair is what was repaired, by the name of the repair; "" for a name that is none.
func Repair(name string) string { return ofRepair[name] }

// Warning is what a warning says; "" for one that is none. A fault that was passed on is a warning too.
func Warning(warning string) string {
	name, behind, _ := strings.Cut(warning, ":")
	if name == plugin && behind != "" {
		return "A parser failed (" + behind + "), and others read on."
	}
	return ofWarning[name]
}

// Signal is what an answer gave away, by the name of the guard's signal; "" for a name that is none.
func Signal(name string) string { return ofSignal[name] }
