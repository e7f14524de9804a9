// Command tagged is a whole plugin: a parser for a model that writes its calls as
// <call>{"name": …, "arguments": {…}}</call>.
package main

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
)

func init() {
	sdk.Module("tagged", "1.0.0")
	sdk.Register(taggedjson.New("my_model", 60, "<call>", "</call>"))
}

func main() {} // a reactor: the gateway calls the exports
