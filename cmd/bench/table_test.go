package main

import (
	"math"
	"strings"
	"testing"
)

func TestQuantiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values []float64
		best   figure
		median figure
		worst  figure
	}{
		{"one", []float64{3}, 3, 3, 3},
		{"two", []float64{4, 2}, 2, 3, 4},
		{"ten", []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 1, 5.5, 10},
		{"eleven", []float64{11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6}, 2, 6, 11},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := best(tt.values); got != tt.best {
				t.Errorf("best = %v, want %v", got, tt.best)
			}
			if got := median(tt.values); got != tt.median {
				t.Errorf("median = %v, want %v", got, tt.median)
			}
			if got := quantile(tt.values, 1); got != tt.worst {
				t.Errorf("quantile 1 = %v, want %v", got, tt.worst)
			}
		})
	}
	if got := median(nil); !got.missing() {
		t.Errorf("median of nothing = %v, want none", got)
	}
}

func TestPairwise(t *testing.T) {
	t.Parallel()
	// The machine was busy in the second round: the ratio of a round stays.
	if got := pairwise([]float64{2, 20, 3}, []float64{1, 10, 1}, quotient); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if got := pairwise([]float64{5, 7}, []float64{4, 4}, difference); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}

func TestFigure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value float64
		want  string
	}{
		{0.1234, "0.12"}, {9.996, "10.0"}, {12.34, "12.3"}, {99.96, "100"},
		{1234.5, "1234"}, {-42.42, "-42.4"}, {math.NaN(), "-"}, {math.Inf(1), "-"},
	}
	for _, tt := range tests {
		if got := figure(tt.value).String(); got != tt.want {
			t.Errorf("String of %v = %q, want %q", tt.value, got, tt.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		target *target
		want   string
	}{
		{nil, ""},
		{upTo("x", 99.9, 100, " µs"), "met"},
		{upTo("x", 100, 100, " µs"), "met"},
		{upTo("x", 100.1, 100, " µs"), "MISSED"},
		{upTo("x", none(), 100, " µs"), "n/a"},
		{upTo("x", figure(math.Inf(1)), 100, " ×"), "MISSED"},
	}
	for _, tt := range tests {
		if got := tt.target.verdict(); got != tt.want {
			t.Errorf("verdict of %+v = %q, want %q", tt.target, got, tt.want)
		}
	}
}

func sample() *table {
	return &table{
		Name: "parse", Title: "texts parsed", Note: "A note.", Others: 12.34,
		Columns: []column{{"native µs", "best"}, {"native µs", "median"}, {"", "ratio"}},
		Rows: []row{
			{name: "1 KB", figures: []figure{1.234, 2, 10}, target: upTo("median", 2, 100, " µs")},
			{name: "16 KB", figures: []figure{20, 30, none()}},
		},
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	sample().print(&out)
	want := `
parse: texts parsed

       native µs
       best       median  ratio  target
1 KB   1.23       2.00    10.0   median ≤ 100 µs  met
16 KB  20.0       30.0    -

A note.

Other processes used 12.3 % of the CPUs meanwhile.`
	if got := trimmed(out.String()); got != want+"\n" {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestPrintMain checks what the main table has besides: what is better still, the peers,
// and lines of single rows before the note.
func TestPrintMain(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	(&table{
		Name: "gateway", Title: "beside a proxy", Note: "A note.", Others: none(),
		Columns: []column{{"", "base"}, {"as a multiple", "gateway"}},
		Rows: []row{
			{name: "CPU", figures: []figure{2, 1.5}, target: upTo("", 1.5, 1.4, " ×"), beyond: "1.2", peers: "nginx 0.2"},
			{name: "overhead", figures: []figure{none(), 70}, note: "Of the overhead.\n"},
		},
	}).print(&out)
	want := `
gateway: beside a proxy

                as a multiple
          base  gateway  target           beyond  peers
CPU       2.00  1.50     ≤ 1.4 ×  MISSED  1.2     nginx 0.2
overhead  -     70.0

Of the overhead.
A note.
`
	if got := out.String(); trimmed(got) != trimmed(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// trimmed is a text without the spaces at the ends of its lines.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
