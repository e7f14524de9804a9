package ledger

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// plainReaders are commands that change nothing. Those of two words are programs that may
// change something as well.
var plainReaders = map[string]bool{
	"grep": true, "rg": true, "ls": true, "cat": true, "head": true, "tail": true, "find": true, "wc": true, "pwd": true,
	"stat": true, "file": true, "tree": true, "which": true, "ag": true, "less": true, "du": true, "df": true, "ps": true,
	"select": true, "show": true, "describe": true, "explain": true,
	"git status": true, "git log": true, "git diff": true, "git show": true, "git grep": true, "sed -n": true,
	"kubectl get": true, "kubectl describe": true, "kubectl logs": true, "docker ps": true, "docker logs": true,
}

// maxCommand is the most bytes of arguments that are read as a command.
const maxCommand = 16 << 10

// callReads reports whether the arguments of a call only read. Those that must be too long are not decoded.
func callReads(c *conversation.Call) bool {
	const escaped = len(`\u0041`)
	return len(c.JSON) <= escaped*maxCommand && onlyReads(c.Args())
}

// onlyReads reports whether the arguments of a shell, or of a database, hold one command
// that changes nothing. What is not known may do anything.
func onlyReads(text []byte) bool {
	if len(text) > maxCommand {
		return false
	}
	object, ok := wire.Value(text, 0)
	if !ok || !jsontext.Value(text).IsValid() {
		return false
	}
	command := ""
	conversation.Members(text, object, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "command", "cmd", "query", "sql", "script", "input", "code":
			s, _ := conversation.Decode(text, v)
			command = strings.TrimSpace(string(s))
		}
		return command == ""
	})
	if command = unquoted(command); command == "" || strings.ContainsAny(command, ">;&`$") {
		return false
	}
	for part := range strings.SplitSeq(strings.ToLower(command), "|") {
		words := strings.Fields(part)
		if len(words) == 0 || !plainReaders[words[0]] && (len(words) == 1 || !plainReaders[words[0]+" "+words[1]]) {
			return false
		}
	}
	return !strings.Contains(command, "-delete") && !strings.Contains(command, "-exec")
}

// unquoted leaves out what stands in quotation marks, which a shell does not read as
// part of its grammar.
func unquoted(command string) string {
	var b strings.Builder
	for command != "" {
		open := strings.IndexAny(command, `'"`)
		if open < 0 {
			b.WriteString(command)
			break
		}
		b.WriteString(command[:open])
		_, rest, closed := strings.Cut(command[open+1:], command[open:open+1])
		if !closed {
			return ""
		}
		b.WriteByte('x')
		command = rest
	}
	return b.String()
}
