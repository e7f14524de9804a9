package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/callgate/callgate/gateway/prefix/simulate"
	"github.com/callgate/callgate/gateway/prefix/tracelog"
)

type exportTraceCmd struct {
	Since string   `help:"Only requests since then: a time such as 2026-11-21T13:00:00Z, or how long ago, such as 24h." placeholder:"TIME"`
	Route string   `help:"Only requests for this model of the configuration." placeholder:"NAME"`
	Files []string `arg:"" optional:"" help:"Log files, plain or gzipped, in any order; - is standard input, the default."`
}

// maxNamed is how many malformed lines are named. The others are counted.
const maxNamed = 10

// Run writes the trace to standard output, and to standard error what was left out and how
// to replay it. The status is exitFailed if lines were malformed or no request was found.
func (c *exportTraceCmd) Run(e *env) error {
	since, err := c.since(time.Now())
	if err != nil {
		return usageError{err}
	}
	named := 0
	log := tracelog.New(tracelog.Options{Since: since, Route: c.Route, Problem: func(p *tracelog.LineError) {
		if named++; named <= maxNamed {
			fmt.Fprintln(e.stderr, p)
		}
	}})
	for _, file := range c.Files {
		if err := readLog(log, file, e.stdin); err != nil {
			return usageError{err}
		}
	}
	if len(c.Files) == 0 {
		if err := log.Read("standard input", e.stdin); err != nil {
			return usageError{err}
		}
	}
	trace, s := log.Trace()
	if err := simulate.WriteTrace(e.stdout, trace); err != nil {
		return err
	}
	c.tell(e.stderr, s)
	if s.Requests == 0 || s.Malformed > 0 {
		return errFailed
	}
	return nil
}

// since is when the requests that are wanted began; zero is any time.
func (c *exportTraceCmd) since(now time.Time) (time.Time, error) {
	if c.Since == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(c.Since); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, c.Since)
	if err != nil {
		return at, fmt.Errorf("export-trace: --since: %q is neither a time such as 2026-11-21T13:00:00Z nor a duration such as 24h", c.Since)
	}
	return at, nil
}

func readLog(log *tracelog.Reader, file string, stdin io.Reader) error {
	if file == "-" {
		return log.Read("standard input", stdin)
	}
	f, err := open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	return log.Read(file, f)
}

// tell says what became of the lines.
func (c *exportTraceCmd) tell(out io.Writer, s tracelog.Summary) {
	fmt.Fprintf(out, "requests: %d; left out: %d lines about something else, %d requests without a whole answer, %d by --since or --route, %d malformed lines\n",
		s.Requests, s.Others, s.Failed, s.Left, s.Malformed)
	if s.Requests == 0 {
		fmt.Fprintln(out, "no request has its blocks in the log; the gateway writes them with log.prefix: true")
		return
	}
	if s.Estimated > 0 {
		fmt.Fprintf(out, "the upstream did not count the tokens of %d requests: theirs are estimated, at %.1f bytes for one\n", s.Estimated, s.BytesPerToken)
	}
	fmt.Fprintf(out, "replay it with: callgate simulate --trace FILE --block-tokens %d\n", s.BlockTokens)
}
