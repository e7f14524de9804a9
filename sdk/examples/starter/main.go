// Command my_model is a parser plugin for Callgate, for a model that writes its tool calls as
//
//	<use tool="get_weather">{"city": "Oslo"}</use>
//
// "callgate plugin build" compiles it to WebAssembly, and the gateway loads it from plugins.d.
package main

import "github.com/callgate/callgate/sdk"

func init() { // the gateway runs init, and never main
	sdk.Module("my_model", "0.1.0")
	sdk.Register(Spec())
}

func main() {}
