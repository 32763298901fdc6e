package ingest

// This file goes down into JSON text once: what a value is made of is asked at
// its place, and nobody looks for its end beforehand.

// walkObject calls value at the value of every member of the object at b[i];
// value returns where that ends.
func walkObject(b []byte, i int, value func(key []byte, escaped bool, at int) (end int, err *scanError)) (end int, err *scanError) {
	if i >= len(b) || b[i] != '{' {
		return i, unexpected(b, i, "an object {…}")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		key, escaped, at, err := scanKey(b, i)
		if err != nil {
			return at, err
		}
		if i, err = value(key, escaped, at); err != nil {
			return i, err
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == '}' {
			return i + 1, nil
		}
		return i, unexpected(b, i, "',' or '}'")
	}
}

// walkArray calls element at every element of the list at b[i]; element returns
// where that ends.
func walkArray(b []byte, i int, element func(at int) (end int, err *scanError)) (end int, err *scanError) {
	if i >= len(b) || b[i] != '[' {
		return i, unexpected(b, i, "a list […]")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		if i, err = element(i); err != nil {
			return i, err
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == ']' {
			return i + 1, nil
		}
		return i, unexpected(b, i, "',' or ']'")
	}
}

// skipValue passes over the value at b[i].
func skipValue(b []byte, i int) (end int, err *scanError) {
	if i < len(b) {
		switch b[i] {
		case '"':
			if end = textEnd(b, i+1); end < 0 {
				return i, scanErrorf(i, "this string does not end")
			}
			return end + 1, nil
		case '{', '[':
			return skipNested(b, i)
		}
	}
	_, end, err = scanValue(b, i)
	return end, err
}

// countElements passes over the value at b[i] and counts its elements, if it is
// a list, up to the first that is malformed.
func countElements(b []byte, i int) (n int32, end int, err *scanError) {
	if i < len(b) && b[i] == '[' {
		end, err = walkArray(b, i, func(at int) (int, *scanError) {
			n++
			end, err := skipValue(b, at)
			if err != nil {
				n--
			}
			return end, err
		})
		if err == nil {
			return n, end, nil
		}
	}
	end, err = skipValue(b, i)
	return n, end, err
}
