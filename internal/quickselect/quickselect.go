// Package quickselect selects the first k elements of a list without sorting it.
package quickselect

import "slices"

// Select moves the k first elements of a list, in the order of compare, to its front. The last of them is then at
// position k-1. compare is a total preorder. Select takes linear time on average (Hoare, Algorithm 65: find, 1961).
func Select[T any](list []T, k int, compare func(a, b T) int) {
	for from, to := 0, len(list)-1; from < to; {
		middle := []T{list[from], list[(from+to)/2], list[to]}
		slices.SortFunc(middle, compare)
		i, j := from, to
		for i <= j {
			for compare(list[i], middle[1]) < 0 {
				i++
			}
			for compare(list[j], middle[1]) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k-1 <= j:
			to = j
		case k-1 >= i:
			from = i
		default:
			return
		}
	}
}
