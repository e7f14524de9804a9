package chain

// effort bounds the work of parsers on regions of which no call comes. A model, or who wrote what
// it repeats, may fill an answer with beginnings of calls, and each of them has parsers asked,
// opened and fed for nothing, which takes a hundred times as long as plain text.
//
// A region costs 1. A parser that is asked about it costs 1 more, and one that opens openCost more, and
// 1 for each readBytes that it reads before it gives the region back. A region of which a call comes costs
// nothing: calls are free, however many there are. An answer may spend freeCost, and 1 more for each
// perCost bytes of its text. While more is spent than that, triggers are text like any other, which
// Report.Warnings says as parse_budget; ordinary text earns meanwhile, so that behind a page of it
// triggers count again.
//
// What is counted does not depend on how the text was cut.
type effort struct{ cost int } // of all regions so far

const (
	// freeCost is more than texts about calls have: a hundred examples of calls that six parsers open
	// for nothing, one right behind the other, or six hundred about which the six are only asked.
	freeCost = 4096
	// perCost is how many bytes of text earn 1. That is such an example in each kilobyte, and one
	// about which parsers are only asked in each 200 bytes.
	perCost = 32
	// readBytes is how many bytes a parser reads for 1.
	readBytes = 128
	// perTools is how many offered tools cost an opened parser, which is told of them, 1 more.
	perTools = 16
)

// afford reports whether a region may begin behind so many bytes of text.
func (e *effort) afford(text int) bool { return e.cost <= freeCost+text/perCost }

// ended counts a region of which no call came.
func (e *effort) ended(cost int) { e.cost += cost }

// openCost is what a parser costs that opens, by the tools that it is told of.
func (p *parsers) openCost() int { return 4 + len(p.offers.all())/perTools }
