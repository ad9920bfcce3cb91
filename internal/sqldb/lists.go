package sqldb

import (
	"encoding/json"
	"strings"
)

// EncodeInts writes a list of integers for a query's in.
func EncodeInts(list []int64) string {
	if list == nil {
		return EmptyList
	}
	b, _ := json.Marshal(list) // integers always marshal
	return string(b)
}

// ScanInts gathers the only column of a query, row ids for one.
func ScanInts(list *[]int64) func(Row) error {
	return func(r Row) error {
		*list = append(*list, 0)
		return r.Scan(&(*list)[len(*list)-1])
	}
}

// texts reads and writes a list of texts in a column.
// noTexts is a column without texts.
const EmptyList = "[]"

func EncodeStrings(list []string) string {
	if len(list) == 0 {
		return EmptyList
	}
	b, _ := json.Marshal(list) // strings always marshal
	return string(b)
}

func DecodeStrings(column string) ([]string, error) {
	list := []string{}
	if column == EmptyList {
		return list, nil
	}
	if strings.HasPrefix(column, `["`) && strings.HasSuffix(column, `"]`) && len(column) > 4 &&
		!strings.Contains(column, `\`) {
		return strings.Split(column[2:len(column)-2], `","`), nil // as texts writes what needs no escape
	}
	err := json.Unmarshal([]byte(column), &list)
	return list, err
}
