package plugins

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/sdk/abi"
)

// Outline is what a module's bytes say of it, without any of it being run. It may be that
// of a module which no host loads.
type Outline struct {
	SHA256   string        `json:"sha256"`
	Size     int           `json:"size"`
	ABI      int           `json:"abi"` // 0: it has no exports of any version
	Exports  []string      `json:"exports"`
	Imports  []string      `json:"imports"`
	MinPages int           `json:"min_pages"`          // of 64 KiB of memory, as declared
	MaxPages int           `json:"max_pages"`          // 0 if none was declared
	Metered  Metering      `json:"metered"`            // zero if it cannot be
	Packed   *abi.Manifest `json:"manifest,omitempty"` // of the custom section, nil if there is none or a bad one
	Refused  string        `json:"refused,omitempty"`  // why no host loads it, as far as its bytes show
}

// Metering is what the counters cost that bound a guest's time: how many there are, and
// the bytes of code without and with them. Run time grows by 20 to 30 %.
type Metering struct {
	Loops  int `json:"loops"`
	Funcs  int `json:"functions"`
	Before int `json:"code_bytes"`
	After  int `json:"metered_code_bytes"`
}

// Look reads a module. A Host refuses for more reasons than those in Refused: some show
// only when the module is started.
func Look(wasm []byte) Outline {
	o := Outline{SHA256: fmt.Sprintf("%x", sha256.Sum256(wasm)), Size: len(wasm), Exports: []string{}, Imports: []string{}}
	if o.Refused = checkSize(wasm); o.Refused != "" {
		return o
	}
	s, err := meter.Inspect(wasm, abi.ManifestSection)
	if s != nil {
		o.describe(s)
	}
	if err != nil {
		o.Refused = whyNotRead(err) + ": " + err.Error()
		return o
	}
	o.Refused = checkModule(s)
	m, err := meter.Rewrite(wasm, fuel)
	if err != nil {
		if o.Refused == "" {
			o.Refused = whyNotMetered(err) + ": " + err.Error()
		}
		return o
	}
	o.MinPages, o.MaxPages = int(m.MinPages), int(m.MaxPages)
	o.Metered = Metering{Loops: m.Loops, Funcs: m.Funcs, Before: m.Before, After: m.After}
	if o.Refused == "" {
		o.Refused = checkMemory(m, Limits{}.withDefaults())
	}
	return o
}

// describe notes what a summary holds.
func (o *Outline) describe(s *meter.Summary) {
	o.ABI = version(s)
	for _, name := range s.Order {
		o.Exports = append(o.Exports, shown(name)+" "+s.Exports[name])
	}
	for _, imp := range s.Imports {
		o.Imports = append(o.Imports, fmt.Sprintf("%s.%s %s", shown(imp.Module), shown(imp.Name), imp.Type))
	}
	slices.Sort(o.Imports)
	if m, err := parseManifest(s.Custom); err == nil {
		o.Packed = &m
	}
}
