package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// toolServerMain is a server of the Model Context Protocol over standard input and output, for
// test scripts. Its tools stand in a file, which is read whenever they are listed. A call gives
// its arguments and the tool's name back.
func toolServerMain() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		_ = json.Unmarshal(line, &m)
		result := `{}`
		switch m.Method {
		case "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
		case "tools/list":
			text, err := os.ReadFile(os.Args[1])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":` + strings.ReplaceAll(string(text), "\n", "") + `}`
		case "tools/call":
			quoted, _ := json.Marshal(m.Params.Name + " " + string(m.Params.Arguments) + " " + os.Getenv("TOKEN"))
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%s},{"type":"image","data":"","mimeType":"image/png"}],"isError":%t}`, quoted, strings.Contains(string(m.Params.Arguments), "fail"))
		}
		if m.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
	}
}
