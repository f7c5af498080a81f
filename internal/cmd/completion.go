package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"taskyard/internal/client"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the completion script of a shell. It calls this program for every
// word, so it also completes the server's agents.
func (c *completionCmd) Run(e *Env) error {
	_, err := io.WriteString(e.Stdout, completionScripts[c.Shell])
	return err
}

// filesWanted is the answer that makes the shell complete file names.
const filesWanted = ":files"

var completionScripts = map[string]string{
	"bash": `# bash completion for taskyard. To load it: source <(taskyard completion bash)
_taskyard() {
  local out IFS=$'\n'
  out=$("${COMP_WORDS[0]}" complete-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  if [[ $out == ":files" ]]; then
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$2"))
    return
  fi
  COMPREPLY=($(printf '%s\n' "$out" | cut -f 1))
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -F _taskyard taskyard
`,
	"zsh": `#compdef taskyard
# zsh completion for taskyard. To load it: source <(taskyard completion zsh)
_taskyard() {
  local out line; local -a list
  out=$("${words[1]}" complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null) || return
  if [[ $out == ":files" ]]; then
    _files
    return
  fi
  for line in ${(f)out}; do
    list+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe taskyard list
}
if [[ ${funcstack[1]} == _taskyard ]]; then _taskyard "$@"; else compdef _taskyard taskyard; fi
`,
	"fish": `# fish completion for taskyard. To load it: taskyard completion fish | source
function __taskyard
  set -l words (commandline -opc)
  set -l last (commandline -ct)
  set -l out ($words[1] complete-words -- $words[2..-1] "$last" 2>/dev/null)
  if test "$out" = ":files"
    __fish_complete_path "$last"
  else
    printf '%s\n' $out
  end
end
complete -c taskyard -f -a '(__taskyard)'
`,
}

type completeCmd struct {
	Words []string `arg:"" optional:"" help:"The words so far, the last of them unfinished."`
}

// Run prints the completions of the last word, one per line, each followed by a
// tab and its description.
func (c *completeCmd) Run(e *Env, ce *client.Env, k *kong.Context) error {
	words := c.Words
	if len(words) == 0 {
		words = []string{""}
	}
	p := &place{node: k.Model.Node, names: func(kind string) [][2]string { return ce.Names(kind, nameTime) }}
	for _, w := range words[:len(words)-1] {
		p.advance(w)
	}
	for _, one := range p.completions(words[len(words)-1]) {
		fmt.Fprintln(e.Stdout, strings.TrimSuffix(one[0]+"\t"+one[1], "\t"))
	}
	return nil
}

// nameTime bounds how long a shell waits for the server.
const nameTime = 700 * time.Millisecond
