package udf

// mostAlike is how many elements the counts of a call may stand for, where each is looked at.
const mostAlike = 50_000_000

// alikeTasks is the last parameter of functions to which tasks alike can be given in one element.
var alikeTasks = Param{"counts", Counts, true}

// repeated writes out every element of the lists as often as the optional counts, argument i,
// say; nums has them as its last list where the call has them. w and the numbers of the clusters may be nil.
func (a *call) repeated(i int, nums [][]float64, w []float64, clusters []int) ([][]float64, []float64, []int) {
	counts, all := a.alike(i, nums)
	if counts == nil {
		return nums, w, clusters
	}
	out := make([][]float64, len(nums)-1)
	for j := range out {
		out[j] = repeat(nums[j], counts, all)
	}
	if w != nil {
		w = repeat(w, counts, all)
	}
	if clusters != nil {
		clusters = repeat(clusters, counts, all)
	}
	return out, w, clusters
}

// alike are the optional counts, argument i, and their sum; nil where the call has none, or
// wrong ones.
func (a *call) alike(i int, nums [][]float64) (counts []int64, all int64) {
	if !a.has(i) || a.stopped() {
		return nil, 0
	}
	counts = a.multiplicities(i, nums)
	if a.stopped() {
		return nil, 0
	}
	for j, n := range counts {
		if n < 0 || n > mostAlike-all {
			a.fail(i, "element %d = %d: want counts from 0 on, of at most %d elements together", j+1, n, mostAlike)
			return nil, 0
		}
		all += n
	}
	return counts, all
}

// repeat writes out each element as often as its count says, all in all so often.
func repeat[T any](list []T, counts []int64, all int64) []T {
	out := make([]T, 0, all)
	for j, v := range list {
		for range counts[j] {
			out = append(out, v)
		}
	}
	return out
}
