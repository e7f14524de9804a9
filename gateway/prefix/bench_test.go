package prefix_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/callgate/callgate/gateway/prefix"
)

// body is a prompt of 32 KB.
func body() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 2048) }

// full returns an index of eight targets that are full, and the candidates. have of the
// targets know the body.
func full(have int) (*prefix.Index, []prefix.Candidate) { return fullOf(8, have) }

// fullOf is full with another number of targets.
func fullOf(n, have int) (*prefix.Index, []prefix.Candidate) {
	o, targets := candidates(n)
	x := prefix.New(prefix.Options{Targets: targets})
	for i, target := range targets {
		for range prefix.DefaultEntries / 50 {
			chain := make(prefix.Chain, 50)
			for i := range chain {
				chain[i] = rand.Uint64()
			}
			x.Add(target.Name, chain)
		}
		if i < have {
			x.Add(target.Name, prefix.Of(key(), body()))
		}
		o[i].Running = i
	}
	return x, o
}

// BenchmarkDecision is all that is done for a request before it is sent: key, chain, and
// choice among eight full targets, of which so many know the whole prompt.
func BenchmarkDecision(b *testing.B) {
	for _, have := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("known to %d", have), func(b *testing.B) {
			x, o := full(have)
			text, salt := body(), []byte("salt")
			b.ReportAllocs()
			for b.Loop() {
				x.Choose(prefix.Of(prefix.NewKey(salt, "tenant", "model"), text), o)
			}
		})
	}
	b.Run("known to 8, in parallel", func(b *testing.B) {
		x, o := full(8)
		text, salt := body(), []byte("salt")
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				x.Choose(prefix.Of(prefix.NewKey(salt, "tenant", "model"), text), o)
			}
		})
	})
}

// BenchmarkDecisionMany is the same among as many full targets, eight of which know the prompt.
func BenchmarkDecisionMany(b *testing.B) {
	for _, targets := range []int{8, 64, 512} {
		b.Run(fmt.Sprintf("%d targets", targets), func(b *testing.B) {
			x, o := fullOf(targets, 8)
			text, salt := body(), []byte("salt")
			for b.Loop() {
				x.Choose(prefix.Of(prefix.NewKey(salt, "tenant", "model"), text), o)
			}
		})
	}
}

// BenchmarkBlock is what a block that is remembered takes of the heap.
func BenchmarkBlock(b *testing.B) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var x *prefix.Index
	for b.Loop() {
		x, _ = full(8)
	}
	b.ReportMetric(float64(heap()-before)/(8*prefix.DefaultEntries), "bytes/block")
	runtime.KeepAlive(x)
}

func BenchmarkChain(b *testing.B) {
	text, k := body(), key()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		prefix.Of(k, text)
	}
}

func BenchmarkChoose(b *testing.B) {
	x, o := full(8)
	chain := prefix.Of(key(), body())
	b.ReportAllocs()
	for b.Loop() {
		x.Choose(chain, o)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, share := range []bool{false, true} {
		b.Run(fmt.Sprintf("share %v", share), func(b *testing.B) {
			x := prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "a"}}, Share: share})
			chains := make([]prefix.Chain, 1000)
			for i := range chains {
				chains[i] = ids(1000*i, 64)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				x.Add("a", chains[n%len(chains)])
				n++
				if n%100 == 0 {
					x.Deltas(10_000)
				}
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	from := prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "a"}}, Share: true})
	from.Add("a", ids(0, 1000))
	deltas := from.Deltas(10_000)
	x := prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "a"}}})
	b.ReportAllocs()
	for b.Loop() {
		x.Apply(deltas)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/mark")
}
