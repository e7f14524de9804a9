package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/callgate/callgate/gateway/prefix/simulate"
)

type simulateCmd struct {
	Trace        string        `required:"" type:"path" help:"Requests to replay, JSON lines in the form of Mooncake's traces, plain or as gzip." placeholder:"FILE"`
	Targets      int           `help:"Targets, each with a cache of its own." default:"8"`
	Gateways     int           `help:"Gateways; each request goes to one of them at random." default:"1"`
	Sync         time.Duration `help:"How often gateways tell each other what they have learned; 0 is never, as without Redis." default:"0s"`
	Redis        string        `help:"Redis over which the gateways talk, as when they serve; by default they talk in memory." placeholder:"URL"`
	Entries      int           `help:"Blocks that a gateway remembers for each target." default:"10000"`
	SharedTokens int           `help:"Tokens of a system prompt to put in front of every request." default:"0"`
	BlockTokens  int           `help:"Tokens of a block in the trace." default:"512"`
	TTL          time.Duration `name:"ttl" help:"How long targets keep an unused block; 0 disables expiry." default:"0s"`
	Down         string        `help:"One target dies and returns with an empty cache, at these shares of the requests, such as 0.4:0.5." placeholder:"FROM:TO"`
	Policy       string        `help:"How targets are chosen: ours, random, round-robin, plain (the longest prefix, however busy its target is) or all." enum:"ours,random,round-robin,plain,all" default:"all"`
	MinHits      float64       `help:"Fail if ours finds less than this percentage of the blocks cached." placeholder:"PERCENT"`
	MaxImbalance float64       `help:"Fail if ours gives a target more than this many times the mean number of requests." placeholder:"X"`
	MaxLoss      float64       `help:"Fail if ours with several gateways finds fewer blocks cached than with one, by more than this many percentage points." placeholder:"POINTS"`
}

// Run replays the trace once for each policy, and prints what came of it.
func (c *simulateCmd) Run(e *env) error {
	replays, err := c.replays()
	if err != nil {
		return usageError{fmt.Errorf("simulate: %w", err)}
	}
	trace, err := c.read()
	if err != nil {
		return usageError{fmt.Errorf("%s: %w", c.Trace, err)}
	}
	disconnect, err := c.connect(e.ctx, replays)
	if err != nil {
		return usageError{fmt.Errorf("simulate: --redis: %w", err)}
	}
	err = replayAll(e.ctx, trace, replays)
	disconnect()
	if err != nil {
		return err
	}
	if err := c.print(e.stdout, replays); err != nil {
		return err
	}
	if last := replays[len(replays)-1]; last.told.written.entries > 0 {
		lasts := time.Duration(trace[len(trace)-1].Timestamp-trace[0].Timestamp) * time.Millisecond
		last.told.print(e.stdout, c.Gateways, max(lasts, time.Second))
	}
	return c.judge(e.stdout, replays)
}

// replay is a run of the simulator, with its name in the table.
type replay struct {
	name    string
	options simulate.Options
	result  simulate.Result
	told    gossip // over a Redis
	err     error
}

// The names of what this gateway does.
const (
	ours      = "ours"
	oursAlone = "ours, 1 gateway" // beside ours with several
)

// check says which flags cannot be.
func (c *simulateCmd) check() error {
	aims := max(c.MinHits, c.MaxImbalance, c.MaxLoss) > 0
	switch {
	case min(c.Targets, c.Gateways, c.Entries, c.BlockTokens) < 1: // 0 would be a default
		return errors.New("--targets, --gateways, --entries and --block-tokens must be above 0")
	case !(min(c.MinHits, c.MaxImbalance, c.MaxLoss) >= 0): // which is false for NaN as well
		return errors.New("--min-hits, --max-imbalance and --max-loss must be numbers, and not negative")
	case c.MaxLoss > 0 && c.Gateways == 1:
		return errors.New("--max-loss compares several gateways with one: set --gateways")
	case c.Redis != "" && (c.Gateways == 1 || c.Sync == 0):
		return errors.New("--redis is how several gateways talk: set --gateways and --sync")
	case aims && c.Policy != ours && c.Policy != "all":
		return fmt.Errorf("--min-hits, --max-imbalance and --max-loss are about ours, not about %s", c.Policy)
	}
	return nil
}

// replays are those that the flags ask for, ours last.
func (c *simulateCmd) replays() ([]*replay, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	failure, err := c.failure()
	if err != nil {
		return nil, err
	}
	var out []*replay
	for _, p := range []struct {
		name, flag string
		policy     simulate.Policy
		gateways   int
	}{
		{"random", "random", simulate.Random, c.Gateways},
		{"round-robin", "round-robin", simulate.RoundRobin, c.Gateways},
		{"plain", "plain", simulate.Longest, c.Gateways},
		{oursAlone, ours, simulate.Cost, 1},
		{ours, ours, simulate.Cost, c.Gateways},
	} {
		if c.Policy != "all" && c.Policy != p.flag || p.name == oursAlone && c.Gateways == 1 {
			continue
		}
		r := &replay{name: p.name, options: simulate.Options{
			Policy: p.policy, Targets: c.Targets, Gateways: p.gateways, Sync: c.Sync, Entries: c.Entries,
			Idle: c.TTL, BlockTokens: c.BlockTokens, Shared: c.SharedTokens, Failure: failure,
		}}
		if _, err := simulate.Run(nil, r.options); err != nil { // before a long file is read
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// failure reads --down; nil is none.
func (c *simulateCmd) failure() (*simulate.Failure, error) {
	if c.Down == "" {
		return nil, nil
	}
	from, to, _ := strings.Cut(c.Down, ":")
	dies, err := strconv.ParseFloat(from, 64)
	returns, err2 := strconv.ParseFloat(to, 64)
	if errors.Join(err, err2) != nil || !(0 <= dies && dies <= returns && returns <= 1) { // NaN is refused as well
		return nil, fmt.Errorf("--down: %q is not FROM:TO with 0 <= FROM <= TO <= 1, such as 0.4:0.5", c.Down)
	}
	return &simulate.Failure{Dies: dies, Returns: returns}, nil
}

// open opens a file. Its error lacks the name, which callers put in front of all errors.
func open(file string) (*os.File, error) {
	f, err := os.Open(file)
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	}
	return f, err
}

func (c *simulateCmd) read() (simulate.Trace, error) {
	f, err := open(c.Trace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	trace, err := simulate.ReadTrace(f)
	if err == nil && len(trace) == 0 {
		err = errors.New("it holds no requests")
	}
	return trace, err
}

// replayAll runs all at once. If ctx ends it does not wait for them: they end with the
// program.
func replayAll(ctx context.Context, trace simulate.Trace, replays []*replay) error {
	done := make(chan *replay, len(replays))
	for _, r := range replays {
		go func() {
			r.result, r.err = simulate.Run(trace, r.options)
			done <- r
		}()
	}
	for range replays {
		select {
		case r := <-done:
			if r.err != nil {
				return r.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// print writes what was replayed, and a line for each replay.
func (c *simulateCmd) print(out io.Writer, replays []*replay) error {
	first := replays[0].result
	fmt.Fprintf(out, "%d requests, %d blocks of %d tokens; targets: %d, blocks remembered of each: %d, gateways: %d",
		first.Requests, first.Blocks, c.BlockTokens, c.Targets, c.Entries, c.Gateways)
	if c.Gateways > 1 && c.Sync > 0 {
		way := ""
		if c.Redis != "" {
			way = " over Redis"
		}
		fmt.Fprintf(out, ", which talk%s every %v", way, c.Sync)
	}
	if c.SharedTokens > 0 {
		fmt.Fprintf(out, "; shared tokens: %d", c.SharedTokens)
	}
	if c.TTL > 0 {
		fmt.Fprintf(out, "; unused blocks are forgotten after %v", c.TTL)
	}
	if c.Down != "" {
		fmt.Fprintf(out, "; one target is down from %s of the requests", strings.Replace(c.Down, ":", " to ", 1))
	}
	fmt.Fprint(out, "\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "POLICY\tBLOCKS CACHED\tUNCACHED TOKENS, MEAN\tIMBALANCE")
	if c.Down != "" {
		fmt.Fprint(w, "\tSENT AGAIN")
	}
	fmt.Fprintln(w)
	for _, r := range replays {
		fmt.Fprintf(w, "%s\t%.1f %%\t%.0f\t%.2f", r.name, 100*r.result.HitRate(), r.result.Uncached, r.result.Imbalance())
		if c.Down != "" {
			fmt.Fprintf(w, "\t%d", r.result.Resent)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// judge holds ours, the last of the replays, against the aims of the flags.
func (c *simulateCmd) judge(out io.Writer, replays []*replay) error {
	result := replays[len(replays)-1].result
	missed := false
	line := func(what string, value, aim float64, unit string, met bool) {
		verdict := "met"
		if !met {
			verdict, missed = "MISSED", true
		}
		fmt.Fprintf(out, "%s %g%s: %.2f%s, %s\n", what, aim, unit, value, unit, verdict)
	}
	if c.MinHits > 0 || c.MaxImbalance > 0 || c.MaxLoss > 0 {
		fmt.Fprintln(out)
	}
	if hits := 100 * result.HitRate(); c.MinHits > 0 {
		line("blocks cached, at least", hits, c.MinHits, " %", hits >= c.MinHits)
	}
	if imbalance := result.Imbalance(); c.MaxImbalance > 0 {
		line("imbalance, at most", imbalance, c.MaxImbalance, "", imbalance <= c.MaxImbalance)
	}
	if c.MaxLoss > 0 {
		loss := 100 * (replays[len(replays)-2].result.HitRate() - result.HitRate())
		line("less than one gateway, at most", loss, c.MaxLoss, " points", loss <= c.MaxLoss)
	}
	if missed {
		return errFailed
	}
	return nil
}
