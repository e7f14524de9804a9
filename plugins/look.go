package plugins

import (
	"crypto/sha256"
	"encoding/hex"
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
	hash := sha256.Sum256(wasm)
	o := Outline{SHA256: hex.EncodeToString(hash[:]), Size: len(wasm), Exports: []string{}, Imports: []string{}}
	s, err := inspect(wasm)
	if s != nil {
		o.describe(s)
	}
	if err != nil {
		o.Refused = "it is not a valid WebAssembly module: " + err.Error()
		return o
	}
	o.Refused = checkModule(s)
	m, err := meter.Rewrite(wasm, fuel)
	if err != nil {
		if o.Refused == "" {
			o.Refused = "its code cannot be metered: " + err.Error()
		}
		return o
	}
	o.MinPages, o.MaxPages = int(m.MinPages), int(m.MaxPages)
	o.Metered = Metering{Loops: m.Loops, Funcs: m.Funcs, Before: codeSize(wasm), After: codeSize(m.Wasm)}
	if o.Refused == "" {
		o.Refused = checkMemory(m, Limits{}.withDefaults())
	}
	return o
}

// describe notes what a summary holds.
func (o *Outline) describe(s *summary) {
	o.ABI = version(s)
	for _, name := range s.order {
		o.Exports = append(o.Exports, shown(name)+" "+s.exports[name].String())
	}
	for _, imp := range s.imports {
		o.Imports = append(o.Imports, fmt.Sprintf("%s.%s %s", shown(imp.module), shown(imp.name), imp))
	}
	slices.Sort(o.Imports)
	if m, err := parseManifest(s.manifest); err == nil {
		o.Packed = &m
	}
}

// codeSize is the size of a module's code section.
func codeSize(wasm []byte) int {
	const code = 10
	r := &wasmReader{b: wasm[8:]}
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		if body := r.bytes(r.u32()); id == code {
			return len(body)
		}
	}
	return 0
}
