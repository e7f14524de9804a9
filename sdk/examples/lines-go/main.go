// Command lines-go is a parser plugin in Go for a made-up format of lines:
//
//	@@call get_weather
//	city: Oslo
//	days: 3
//	@@end
//
// The same parser in C, Rust and AssemblyScript stands beside it, and README.md there
// describes the format.
package main

import "github.com/callgate/callgate/sdk"

func init() { // the gateway runs init, and never main
	sdk.Module("my_model", "0.1.0")
	sdk.Register(Spec())
}

func main() {}
