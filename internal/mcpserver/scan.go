package mcpserver

// maxDepth bounds the nesting of JSON in a call, as everywhere in Taskyard.
const maxDepth = 32

// scan returns the nesting depth of JSON, and whether all its numbers are short
// enough that every parser reads the same value. For invalid JSON, the results
// are meaningless.
func scan(raw []byte) (deepest int, numbers bool) {
	const longest = 15 // digits that a float64 preserves
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
			for i+1 < len(raw) && isNumberByte(raw[i+1]) {
				i++
				numbers = numbers && raw[i]|0x20 != 'e'
			}
			numbers = numbers && i-from < longest
		}
	}
	return deepest, numbers
}

// closing returns the position of the quote that ends a string.
func closing(raw []byte, i int) int {
	for i < len(raw) && raw[i] != '"' {
		if raw[i] == '\\' {
			i++
		}
		i++
	}
	return i
}

func isNumberByte(b byte) bool {
	return '0' <= b && b <= '9' || b == '.' || b == '-' || b == '+' || b|0x20 == 'e'
}
