package mcpserver

// maxDepth is how deep the JSON of a call may nest, as everywhere in Taskyard.
const maxDepth = 32

// scan returns how deep JSON nests, and whether each of its numbers is so short
// that every reader takes it for the same. It reads what is no JSON too, and
// then means nothing.
func scan(raw []byte) (deepest int, numbers bool) {
	const longest = 15 // digits that a float64 keeps
	numbers = true
	for i, depth := 0, 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case b == '"':
			i = closing(raw, i+1)
		case b == '{' || b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}' || b == ']':
			depth--
		case b == '-' || '0' <= b && b <= '9':
			from := i
			for i+1 < len(raw) && ofNumber(raw[i+1]) {
				i++
				numbers = numbers && raw[i]|0x20 != 'e'
			}
			numbers = numbers && i-from < longest
		}
	}
	return deepest, numbers
}

// closing returns the place of the quote that ends a string.
func closing(raw []byte, i int) int {
	for i < len(raw) && raw[i] != '"' {
		if raw[i] == '\\' {
			i++
		}
		i++
	}
	return i
}

func ofNumber(b byte) bool {
	return '0' <= b && b <= '9' || b == '.' || b == '-' || b == '+' || b|0x20 == 'e'
}
