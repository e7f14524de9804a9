package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/internal/plainfile"
)

type pricesCmd struct {
	Import pricesImportCmd `cmd:"" help:"Print a price file made from genai-prices' data.json or from LiteLLM's prices."`
	Check  pricesCheckCmd  `cmd:"" help:"Check a price file and print its version."`
}

type pricesImportCmd struct {
	File     string   `arg:"" type:"existingfile" help:"The file, which you have downloaded: nothing is fetched."`
	Provider []string `help:"Provider of the file whose models are wanted, such as openai, or openai=main for the one that the configuration calls main. May be given more than once." sep:"none" placeholder:"NAME[=OURS]"`
	Model    []string `help:"Pattern of models that are wanted, such as gpt-5*. May be given more than once. Default: all." sep:"none" placeholder:"PATTERN"`
	Date     string   `help:"Day whose prices are wanted. Default: today." placeholder:"YYYY-MM-DD"`
}

// Run prints the file, and on standard error what could not be read into it.
func (p *pricesImportCmd) Run(e *env) error {
	data, err := plainfile.Read(p.File, accounts.MaxImport)
	if err != nil {
		return usageError{err}
	}
	o := accounts.ImportOptions{Models: p.Model, Day: time.Now().UTC()}
	if p.Date != "" {
		if o.Day, err = time.Parse(time.DateOnly, p.Date); err != nil {
			return usageError{fmt.Errorf("--date %q is not a day, such as 2026-11-23", p.Date)}
		}
	}
	for _, text := range p.Provider {
		theirs, ours, _ := strings.Cut(text, "=")
		o.Providers = append(o.Providers, accounts.ImportProvider{Theirs: theirs, Ours: ours})
	}
	imported, err := accounts.Import(data, o)
	if err != nil {
		return usageError{fmt.Errorf("%s: %w", p.File, err)}
	}
	for _, note := range imported.Notes {
		fmt.Fprintln(e.stderr, "callgate:", note)
	}
	fmt.Fprint(e.stdout, string(imported.File))
	return nil
}

type pricesCheckCmd struct {
	File string `arg:"" type:"existingfile" help:"The price file."`
}

// Run prints the version that rows of the ledger have with this file.
func (p *pricesCheckCmd) Run(e *env) error {
	prices, err := readPriceFile(p.File)
	if err != nil {
		return usageError{err}
	}
	fmt.Fprintln(e.stdout, prices.Version())
	return nil
}
