package task

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a todo list.
const (
	MaxTodoItem  = 4096    // characters of an item
	MaxTodoPage  = 1000    // items of one answer
	MaxTodoBytes = 1 << 20 // bytes of the items of one answer, but for a single item
	maxTodoEvent = 200     // characters of an item that the log keeps
)

// TodoOp is an operation on an agent's todo list, a deque of plain strings.
// L is the front, R is the back.
type TodoOp string

// The eight operations.
const (
	TodoLPush TodoOp = "lpush" // add at the front
	TodoRPush TodoOp = "rpush" // add at the back
	TodoLPop  TodoOp = "lpop"  // take from the front
	TodoRPop  TodoOp = "rpop"  // take from the back
	TodoLPeek TodoOp = "lpeek" // look at the front
	TodoRPeek TodoOp = "rpeek" // look at the back
	TodoList  TodoOp = "list"  // all items, front to back
	TodoCount TodoOp = "count" // how many items there are
)

// TodoOps lists every operation.
var TodoOps = []TodoOp{TodoLPush, TodoRPush, TodoLPop, TodoRPop, TodoLPeek, TodoRPeek, TodoList, TodoCount}

// Pushes reports whether the operation adds an item, and so needs one.
func (o TodoOp) Pushes() bool { return o == TodoLPush || o == TodoRPush }

// Pops reports whether the operation takes an item away.
func (o TodoOp) Pops() bool { return o == TodoLPop || o == TodoRPop }

// Changes reports whether the operation changes the list.
func (o TodoOp) Changes() bool { return o.Pushes() || o.Pops() }

// Front reports whether the operation works at the front.
func (o TodoOp) Front() bool { return strings.HasPrefix(string(o), "l") && o != TodoList }

// TodoCall is one operation as a caller asks for it.
type TodoCall struct {
	Op    TodoOp
	Item  *string // only for lpush and rpush; kept as it is
	After string  // only for list: the cursor of the page before
	Limit int     // only for list: 1 to MaxTodoPage; 0 means MaxTodoPage
}

// Check reports every wrong field of a call at once.
func (c TodoCall) Check() error {
	var p Problems
	if !slices.Contains(TodoOps, c.Op) {
		names := make([]string, len(TodoOps))
		for i, o := range TodoOps {
			names[i] = string(o)
		}
		p.Add("operation", "must be one of %s", strings.Join(names, ", "))
		return p.Err()
	}
	switch {
	case c.Op.Pushes():
		item := ""
		if c.Item != nil {
			item = *c.Item
		}
		p.checkTodoItem(item)
	case c.Item != nil:
		p.Add("item", "%s takes no item; leave it out", c.Op)
	}
	if c.Op != TodoList {
		if c.After != "" {
			p.Add("after", "only list takes a cursor; leave it out")
		}
		if c.Limit != 0 {
			p.Add("limit", "only list takes a limit; leave it out")
		}
		return p.Err()
	}
	if c.Limit < 0 || c.Limit > MaxTodoPage {
		p.Add("limit", "must be 1 to %d", MaxTodoPage)
	}
	if _, err := c.Position(); err != nil {
		p.Add("after", "must be the cursor next of the page before")
	}
	return p.Err()
}

// Position reads the cursor: the position of the last item of the page before.
func (c TodoCall) Position() (int64, error) {
	if c.After == "" {
		return 0, nil
	}
	return strconv.ParseInt(c.After, 10, 64)
}

func (p *Problems) checkTodoItem(item string) {
	if !p.CheckText("item", item, MaxTodoItem*utf8.UTFMax) {
		return
	}
	switch n := utf8.RuneCountInString(item); {
	case strings.TrimSpace(item) == "":
		p.Add("item", "must not be blank: give 1 to %d characters", MaxTodoItem)
	case n > MaxTodoItem:
		p.Add("item", "must be 1 to %d characters, not %d", MaxTodoItem, n)
	}
}

// ClipTodo shortens an item to what the log keeps of it; cut reports whether it
// did.
func ClipTodo(item string) (short string, cut bool) {
	n := 0
	for i := range item {
		if n == maxTodoEvent {
			return item[:i] + "…", true
		}
		n++
	}
	return item, false
}

// TodoAnswer is what an operation answers; only the fields of that operation
// are there. OK is false when there is nothing to pop or to peek at, which is
// no error.
type TodoAnswer struct {
	OK    bool      `json:"ok" doc:"false: the list is empty, so there is nothing to pop or peek at"`
	Count *int      `json:"count,omitzero" doc:"number of items in the list; included with items only if those are not all of them"`
	Item  *string   `json:"item,omitzero"`
	Items *[]string `json:"items,omitzero" doc:"front to back"`
	Next  string    `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
}
