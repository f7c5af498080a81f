package cmd

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// place is the position of a word in the command line, as kong would parse it.
type place struct {
	node       *kong.Node
	flag       *kong.Flag // the flag whose value comes next, or nil
	args       int        // number of preceding positional arguments
	flagsEnded bool       // after "--": no more flags
	names      func(kind string) [][2]string
}

// advance advances past a complete word.
func (p *place) advance(w string) {
	switch {
	case p.flag != nil && w == "=": // bash splits --flag=value
	case p.flag != nil:
		p.flag = nil
	case p.flagsEnded:
		p.args++
	case w == "--":
		p.flagsEnded = true
	case len(w) > 1 && w[0] == '-':
		p.passFlag(w)
	default:
		p.passWord(w)
	}
}

// passFlag records the flag that expects a value.
func (p *place) passFlag(w string) {
	if strings.Contains(w, "=") {
		return
	}
	if f := p.findFlag(w); f != nil && !f.IsBool() {
		p.flag = f
	}
}

func (p *place) passWord(w string) {
	for _, n := range p.node.Children {
		if p.args == 0 && (n.Name == w || slices.Contains(n.Aliases, w)) {
			p.node = n
			return
		}
	}
	p.args++
}

// command returns the command so far, or its default subcommand.
func (p *place) command() *kong.Node {
	if p.node.DefaultCmd != nil {
		return p.node.DefaultCmd
	}
	return p.node
}

// flags returns the valid flags.
func (p *place) flags() (list []*kong.Flag) {
	for _, level := range p.command().AllFlags(true) {
		list = append(list, level...)
	}
	return list
}

// findFlag returns the flag --name or -n, nil for none.
func (p *place) findFlag(w string) *kong.Flag {
	for _, f := range p.flags() {
		if w == "--"+f.Name || len(w) == 2 && f.Short != 0 && w == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// completions lists the completions of the unfinished word, with descriptions.
func (p *place) completions(w string) [][2]string {
	name, value, assigned := strings.Cut(w, "=")
	switch {
	case p.flag != nil:
		return begins(p.values(p.flag.Value), strings.TrimPrefix(w, "="))
	case !p.flagsEnded && assigned && strings.HasPrefix(w, "--"):
		return p.assigned(name, value)
	case !p.flagsEnded && strings.HasPrefix(w, "-"):
		return begins(p.flagNames(), w)
	}
	var list [][2]string
	if p.args == 0 && !p.flagsEnded {
		for _, n := range p.node.Children {
			if !n.Hidden {
				list = append(list, [2]string{n.Name, n.Help})
			}
		}
	}
	return begins(append(list, p.arguments()...), w)
}

func (p *place) assigned(name, value string) [][2]string {
	f := p.findFlag(name)
	if f == nil {
		return nil
	}
	list := begins(p.values(f.Value), value)
	for i := range list {
		if list[i][0] != filesWanted {
			list[i][0] = name + "=" + list[i][0]
		}
	}
	return list
}

func (p *place) flagNames() (list [][2]string) {
	for _, f := range p.flags() {
		list = append(list, [2]string{"--" + f.Name, f.Help})
	}
	return list
}

// arguments returns the values of the next positional argument; the last one of
// a list accepts all that follow.
func (p *place) arguments() [][2]string {
	all := p.command().Positional
	switch {
	case p.args < len(all):
		return p.values(all[p.args])
	case len(all) > 0 && all[len(all)-1].IsSlice():
		return p.values(all[len(all)-1])
	}
	return nil
}

// values returns the possible values, as the value's tag says: the agents,
// tasks or projects of the server, files, or fixed words.
func (p *place) values(v *kong.Value) (list [][2]string) {
	kind := v.Tag.Get("complete")
	switch kind {
	case "agent", "task", "project":
		return p.names(kind)
	case "file":
		return [][2]string{{filesWanted, ""}}
	case "":
		kind = v.Enum
	}
	for word := range strings.SplitSeq(kind, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, [2]string{word, ""})
		}
	}
	return list
}

// begins filters by the prefix w; each description is one line.
func begins(list [][2]string, w string) (out [][2]string) {
	for _, one := range list {
		if one[0] == filesWanted || strings.HasPrefix(one[0], w) {
			out = append(out, [2]string{one[0], strings.ReplaceAll(one[1], "\n", " ")})
		}
	}
	return out
}
