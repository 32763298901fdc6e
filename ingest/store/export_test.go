package store

import "bytes"

// SetLimits makes limits small for a test and returns what restores them.
func SetLimits(hashes int64, groups int) (restore func()) {
	h, g := hashesPerPass, rollupLimit
	hashesPerPass, rollupLimit = hashes, groups
	return func() { hashesPerPass, rollupLimit = h, g }
}

// SetMerging sets what compaction takes for small and how much it puts into a
// file, and returns what restores it.
func SetMerging(small, merged int64) (restore func()) {
	s, m := smallFile, mergedFile
	smallFile, mergedFile = small, merged
	return func() { smallFile, mergedFile = s, m }
}

// ExactSum adds floats as the roll-up does, in the given portions.
func ExactSum(portions ...[]float64) float64 {
	var total floatSum
	var sums odds
	for _, p := range portions {
		var s floatSum
		for _, x := range p {
			s.add(x, &sums)
		}
		total.merge(&s, &sums, &sums)
	}
	return total.value(&sums)
}

// IntSum adds integers as the roll-up does.
func IntSum(values ...int64) int64 {
	var s intSum
	for _, v := range values {
		s.add(v)
	}
	return s.value()
}

// DecodeRecord parses a record.
func DecodeRecord(text []byte) error {
	_, err := decodeRecord(text)
	return err
}

// Reseal is a record that was changed with the checksum it should have.
func Reseal(text []byte) []byte {
	at := bytes.LastIndex(text, []byte(sumBefore))
	return seal(append(text[:at:at], '}'))
}

// FolderName is a suite as a folder's name.
var FolderName = folderName

// Identity is a trial's identity as a hash; ok is false if it has none.
func Identity(t *Trial) (h [2]uint64, ok bool) {
	var ids identifier
	x, ok := ids.identity(t, nil)
	return [2]uint64{x.group.hi, x.group.lo + uint64(x.bit)}, ok
}

// MendJSON makes text JSON that DuckDB reads.
var MendJSON = mendJSON
