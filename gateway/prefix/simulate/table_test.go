package simulate_test

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/callgate/callgate/gateway/prefix/simulate"
)

// row is a line of the table that tests print.
type row struct {
	Name   string
	Result simulate.Result
}

// writeTable writes results for people: the hit rate in percent of blocks and what was
// expected of it, the mean of uncached tokens, the imbalance by requests and by uncached
// tokens.
func writeTable(w io.Writer, rows []row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "run\tpolicy\thit %\texpected %\tuncached\timbalance\tof work\tresent\tentries\t\n")
	for _, row := range rows {
		r := row.Result
		expected := float64(r.Expected) / float64(max(r.Blocks, 1))
		fmt.Fprintf(table, "%s\t%s\t%.1f\t%.1f\t%.0f\t%.2f\t%.2f\t%d\t%d\t\n", row.Name, r.Policy,
			100*r.HitRate(), 100*expected, r.Uncached, r.Imbalance(), imbalanceOf(r.Work), r.Resent, r.Entries)
	}
	return table.Flush()
}

func imbalanceOf(work []int64) float64 {
	var sum int64
	for _, n := range work {
		sum += n
	}
	return float64(slices.Max(work)) * float64(len(work)) / float64(max(sum, 1))
}
