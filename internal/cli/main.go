// Package cli is the program callgate: its commands, one file each, and the wiring of the
// gateway. It is a package of its own so that cmd/gateway and cmd/callgate can both be it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // for date_context, where the machine has no time zones

	"github.com/alecthomas/kong"

	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/plugins"
)

// Main runs the process's command line, and ends the process with its status.
func Main() {
	if len(os.Args) > 1 && os.Args[1] == compilerCommand {
		os.Exit(plugins.CompilerMain(os.Args[2:], os.Stdin, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == guardCommand {
		os.Exit(mcp.GuardMain(os.Args[2:]))
	}
	compiler = ownCompiler
	toolGuard = ownGuard
	ctx, stop := untilSignal()
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // the work was done and its result is bad
	exitUsage  = 2 // a flag, a file or the configuration is wrong
)

// env is what commands read and write.
type env struct {
	ctx            context.Context //nolint:containedctx // a command's context lives as long as the command
	stdin          io.Reader
	stdout, stderr io.Writer
}

// cli is the command line.
type cli struct {
	Serve       serveCmd       `cmd:"" help:"Serve the gateway."`
	Demo        demoCmd        `cmd:"" help:"Show what models write and what apps get, direct and through Callgate, and exit."`
	Parse       parseCmd       `cmd:"" help:"Read model text from standard input and print the tool calls in it."`
	Check       checkCmd       `cmd:"" help:"Check a configuration and print it with all defaults."`
	Plugin      pluginCmd      `cmd:"" help:"List and inspect parser plugins."`
	Doctor      doctorCmd      `cmd:"" help:"Find out what a server is and what to write for it, or check that everything a configuration names is there."`
	Explain     explainCmd     `cmd:"" help:"Say what a name means that stands in a header, a metric or the log."`
	Ready       readyCmd       `cmd:"" help:"Ask a gateway whether it is ready, for health checks."`
	Tools       toolsCmd       `cmd:"" help:"List, call and pin the tools that the gateway runs (tool_servers)."`
	Key         keyCmd         `cmd:"" help:"Create and manage clients' keys: for the configuration, or at a running gateway."`
	Team        teamCmd        `cmd:"" help:"Create, list and delete teams at a running gateway."`
	Usage       usageCmd       `cmd:"" help:"Print what requests have used and cost, from the ledger of a running gateway."`
	Prices      pricesCmd      `cmd:"" help:"Make a price file from prices that others publish, or check one."`
	ExportTrace exportTraceCmd `cmd:"" help:"Make a trace for simulate from the gateway's own log (log.prefix)."`
	Guard       guardCmd       `cmd:"" help:"Say what the execution guard would have said about past conversations."`
	Simulate    simulateCmd    `cmd:"" help:"Replay a trace of requests to see how many prompts routing by prefix finds cached."`
	Conformance conformCmd     `cmd:"" help:"Run the conformance suite on any gateway; see conformance run --help."`
	Completion  completionCmd  `cmd:"" help:"Print a shell's completion script: bash, zsh or fish."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

// spoken are the arguments with what people try first put into the program's own: nothing at
// all, help, --version.
func spoken(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && (args[0] == "--version" || args[0] == "-v"):
		return []string{"version"}
	}
	return args
}

// chosen is the command that a mistake was made in, from the outermost.
func chosen(err error) (path []string) {
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) {
		return nil
	}
	for n := wrong.Context.Selected(); n != nil && n.Type == kong.CommandNode; n = n.Parent {
		path = slices.Insert(path, 0, n.Name)
	}
	return path
}

// mistake is what a mistake on the command line says, with the values that a flag takes as people
// write them. The empty one, of a flag that is not given, is not named.
func mistake(err error) string {
	if flag, _, missing := strings.Cut(err.Error(), `: expected `); missing && strings.HasSuffix(err.Error(), `but got "EOL" (<EOL>)`) {
		return flag + " needs a value, and nothing follows it"
	}
	said, values, ok := strings.Cut(err.Error(), " must be one of ")
	if !ok {
		return err.Error()
	}
	values, got, _ := strings.Cut(values, " but got ")
	var all []string
	for v := range strings.SplitSeq(values, ",") {
		if v != `""` {
			all = append(all, strings.Trim(v, `"`))
		}
	}
	return strings.Trim(said, "[]") + " is one of " + strings.Join(all, ", ") + ", not " + got
}

// misplaced says where a file belongs that stands where the command takes no argument, and where a port does.
func misplaced(err error, path string) string {
	if strings.HasPrefix(err.Error(), "unknown flag --port") && path == "callgate serve" {
		return ": the port is part of the address; write --listen 127.0.0.1:8090, with your port"
	}
	file, ok := strings.CutPrefix(err.Error(), "unexpected argument ")
	if ok && path == "callgate parse" {
		return ": text is read from standard input; write callgate parse < " + file
	}
	var wrong *kong.ParseError
	if ok && isFile(file) && errors.As(err, &wrong) && slices.ContainsFunc(wrong.Context.Flags(), isConfig) {
		return ": a configuration is named by a flag; write " + path + " -c " + file
	}
	return ""
}

func isConfig(f *kong.Flag) bool { return f.Name == "config" }

// once refuses a second configuration: whoever names two expects both to count.
func once(command *kong.Context) error {
	given := 0
	for _, p := range command.Path {
		if p.Flag != nil && isConfig(p.Flag) {
			given++
		}
	}
	if given < 2 {
		return nil
	}
	return usageError{errors.New("--config is given twice, and files are not merged: name one")}
}

// usageError is a mistake on the command line or in a file that it names.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// errFailed ends a command with exitFailed; the command has said why.
var errFailed = errors.New("failed")

// commandLine is what the command line is made of.
func commandLine() []kong.Option {
	return []kong.Option{
		kong.Name("callgate"),
		kong.Description("An OpenAI-compatible gateway that makes tool calling reliable on every model. Start with: callgate serve"),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	}
}

// run runs a command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	exited := -1
	parser, err := kong.New(&cli{}, append(commandLine(), kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code }), kong.PostBuild(withoutEmpty))...)
	if err != nil {
		fmt.Fprintln(stderr, "callgate:", err)
		return exitUsage
	}
	if len(args) > 0 && args[0] == completeCommand {
		for _, word := range complete(parser.Model.Node, args[1:]) {
			fmt.Fprintln(stdout, word)
		}
		return exitOK
	}
	command, err := parser.Parse(spoken(args))
	if exited >= 0 {
		return exited // --help was printed
	}
	if err != nil {
		path := strings.Join(append([]string{"callgate"}, chosen(err)...), " ")
		fmt.Fprintf(stderr, "callgate: %s%s (see %s --help)\n", mistake(err), misplaced(err, path), path)
		return exitUsage
	}
	if err = once(command); err == nil {
		err = command.Run(&env{ctx, stdin, stdout, stderr})
	}
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "callgate:", usage.err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "callgate:", err)
	return exitFailed
}

// isFile reports whether an argument is named as a configuration is.
func isFile(arg string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg))
}
