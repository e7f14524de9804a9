// Command site writes the documents of this repository as pages of a static site, with links
// between them, a list of all, light and dark colours, and a search that asks no server.
//
//	go run . -from ../.. -to ../../site
//
// It is a module of its own, so that the gateway's has nothing of it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	from := flag.String("from", ".", "the repository's `directory`")
	to := flag.String("to", "site", "the `directory` to write, which is made anew")
	flag.Parse()
	n, err := build(*from, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s\n", n, *to)
}
