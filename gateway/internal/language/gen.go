//go:build ignore

// Command gen writes grams.txt.gz from the models of lingua-go, which the Go command
// downloads.
package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	module = "github.com/pemistahl/lingua-go@v1.4.0"
	kept   = 6000 // of each language
	scale  = 8    // steps of a score in a factor of e
)

// languages are those that need more than their script. Lingua calls Norwegian nb.
var languages = strings.Fields("en de fr es pt it nl pl cs sk ro id ms vi tr sv da nb fi hu hr sl ca et lv lt tl ru uk bg sr be ar fa ur hi mr")

func main() {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		log.Fatal(err)
	}
	var at struct{ Dir string }
	if err := json.Unmarshal(out, &at); err != nil {
		log.Fatal(err)
	}
	lines := map[string]string{}
	for _, l := range languages {
		for gram, score := range common(filepath.Join(at.Dir, "language-models", l)) {
			lines[gram] += fmt.Sprintf(" %s%d", strings.ReplaceAll(l, "nb", "no"), score)
		}
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	for _, gram := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(z, "%s%s\n", gram, lines[gram])
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("grams.txt.gz", b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// common returns the most common grams of a language, each with its score: how rare its
// last letter is behind the others.
func common(dir string) map[string]int {
	chance := map[string]float64{}
	for _, file := range []string{"unigrams", "bigrams", "trigrams"} {
		read(filepath.Join(dir, file+".pb.bin.zip"), chance)
	}
	joint := func(gram string) float64 {
		p, r := 1.0, []rune(gram)
		for i := range r {
			if q, ok := chance[string(r[:i+1])]; ok {
				p *= q
			}
		}
		return p
	}
	grams := slices.SortedFunc(maps.Keys(chance), func(x, y string) int {
		return cmp.Or(cmp.Compare(joint(y), joint(x)), cmp.Compare(x, y))
	})
	scores := map[string]int{}
	for _, gram := range grams[:min(kept, len(grams))] {
		scores[gram] = int(math.Round(-math.Log(chance[gram]) * scale))
	}
	return scores
}

// read reads one of lingua's models: sets of grams that have one chance.
func read(file string, chance map[string]float64) {
	z, err := zip.OpenReader(file)
	if err != nil {
		log.Fatal(err)
	}
	defer z.Close()
	f, err := z.File[0].Open()
	if err != nil {
		log.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		log.Fatal(err)
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		b = b[n:]
		if number == 4 {
			set, m := protowire.ConsumeBytes(b)
			readSet(set, chance)
			b = b[m:]
			continue
		}
		b = b[protowire.ConsumeFieldValue(number, kind, b):]
	}
}

func readSet(set []byte, chance map[string]float64) {
	p := 0.0
	for len(set) > 0 {
		number, _, n := protowire.ConsumeTag(set)
		set = set[n:]
		if number == 1 {
			bits, n := protowire.ConsumeFixed64(set)
			p, set = math.Float64frombits(bits), set[n:]
			continue
		}
		gram, n := protowire.ConsumeBytes(set)
		chance[string(gram)], set = p, set[n:]
	}
}
