// Command gateway is the same program as cmd/callgate, which go install calls callgate: an
// OpenAI-compatible gateway that makes tool calling reliable on every model.
package main

import "github.com/callgate/callgate/internal/cli"

func main() { cli.Main() }
