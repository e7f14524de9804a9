package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints what a shell reads to complete the command line.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: bash, zsh or fish."`
}

// completionScripts ask the program itself, so that they stay right when it is replaced. What is no
// word of the program is completed as a file.
var completionScripts = map[string]string{
	"bash": `# callgate completion bash > ~/.local/share/bash-completion/completions/callgate
_callgate() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(callgate ` + completeCommand + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _callgate callgate
`,
	"zsh": `#compdef callgate
# callgate completion zsh > a folder of $fpath, as _callgate
_callgate() {
  local -a found
  found=("${(@f)$(callgate ` + completeCommand + ` "${words[@]:1:CURRENT-1}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
if [ "$funcstack[1]" = "_callgate" ]; then _callgate "$@"; else compdef _callgate callgate; fi
`,
	"fish": `# callgate completion fish > ~/.config/fish/completions/callgate.fish
complete -c callgate -a '(callgate ` + completeCommand + ` (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

// Run prints the script.
func (c completionCmd) Run(e *env) error {
	_, err := fmt.Fprint(e.stdout, completionScripts[c.Shell])
	return err
}

// completeCommand is what the scripts call, with the words behind the program's name; the last of them is
// the one that is written.
const completeCommand = "__complete"

// complete returns what the last word may be: commands, flags, or values of a flag or an argument that has
// only some. Nothing means a file.
func complete(root *kong.Node, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	done, last := words[:len(words)-1], words[len(words)-1]
	node, args := root, 0
	var pending *kong.Flag // whose value comes next
	for _, w := range done {
		switch {
		case pending != nil:
			pending = nil
		case strings.HasPrefix(w, "-"):
			if f := flagOf(node, w); f != nil && !f.IsBool() && !strings.Contains(w, "=") {
				pending = f
			}
		default:
			if i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == w }); i >= 0 {
				node = node.Children[i]
			} else {
				args++
			}
		}
	}
	found := candidates(node, pending, args, last)
	found = slices.DeleteFunc(found, func(s string) bool { return !strings.HasPrefix(s, last) })
	slices.Sort(found)
	return slices.Compact(found)
}

// candidates are what may stand behind the words so far: the value of a flag, or a flag, command or
// argument of node.
func candidates(node *kong.Node, pending *kong.Flag, args int, last string) (found []string) {
	switch {
	case pending != nil:
		found = values(pending.Value)
	case strings.HasPrefix(last, "-"):
		for n := node; n != nil; n = n.Parent {
			for _, f := range n.Flags {
				if !f.Hidden {
					found = append(found, "--"+f.Name)
				}
			}
		}
	default:
		for _, n := range node.Children {
			if !n.Hidden {
				found = append(found, n.Name)
			}
		}
		if args < len(node.Positional) {
			found = append(found, values(node.Positional[args])...)
		}
	}
	return found
}

// values are those that a flag or an argument may have, if it may not have others.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
}

// flagOf is the flag of a node, or of those above it, that a word names.
func flagOf(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for n := node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}
