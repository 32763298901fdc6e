package sql

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// normal turns a value of the driver into the one that the column's kind
// promises.
func normal(col *Column, v driver.Value) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		return v, nil
	case string:
		if col.Kind == JSON {
			return strictJSON(v), nil
		}
		return v, nil
	case int64:
		return v, nil
	case int32:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int8:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case uint16:
		return int64(v), nil
	case uint8:
		return int64(v), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case float64:
		return v, nil
	case float32:
		return widen(v), nil
	case *big.Int:
		return v.String(), nil
	case duckdb.Decimal:
		return decimalText(v), nil
	case time.Time:
		return normalTime(col, v)
	case []byte:
		if col.Type == "UUID" && len(v) == 16 {
			h := hex.EncodeToString(v)
			return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
		}
		return hex.EncodeToString(v), nil
	}
	return nil, fmt.Errorf("column %s: a value of type %s can't be shown; cast it to VARCHAR", col.Name, col.Type)
}

// widen gives the float64 with the same shortest decimal form, so that 0.1
// stays 0.1.
func widen(v float32) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	if err != nil {
		return float64(v)
	}
	return f
}

// decimalText writes every digit of the scale, trailing zeros too.
func decimalText(d duckdb.Decimal) string {
	s := new(big.Int).Abs(d.Value).String()
	if n := int(d.Scale); n > 0 {
		if len(s) <= n {
			s = strings.Repeat("0", n-len(s)+1) + s
		}
		s = s[:len(s)-n] + "." + s[len(s)-n:]
	}
	if d.Value.Sign() < 0 {
		return "-" + s
	}
	return s
}

// normalTime refuses infinite dates and times: they have no time.Time, and the
// driver's stand-in would be taken for a real one.
func normalTime(col *Column, t time.Time) (any, error) {
	infinite := false
	switch col.Type {
	case "DATE":
		days := t.Unix() / 86400
		infinite = days == math.MaxInt32 || days == -math.MaxInt32
	case "TIMESTAMP", "TIMESTAMPTZ":
		us := t.UnixMicro()
		infinite = us == math.MaxInt64 || us == -math.MaxInt64
	case "TIMESTAMP_S":
		infinite = t.Unix() == math.MaxInt64 || t.Unix() == -math.MaxInt64
	case "TIMESTAMP_MS":
		ms := t.UnixMilli()
		infinite = ms == math.MaxInt64 || ms == -math.MaxInt64
	case "TIMESTAMP_NS":
		ns := t.UnixNano()
		infinite = ns == math.MaxInt64 || ns == -math.MaxInt64
	}
	if infinite {
		return nil, fmt.Errorf("column %s holds an infinite %s; cast it to VARCHAR to show it", col.Name, strings.ToLower(col.Type))
	}
	return t.UTC(), nil
}

// strictJSON puts the bare words NaN and Infinity, which DuckDB writes for
// non-finite numbers in lists and structs and which JSON lacks, into quotes.
func strictJSON(s string) string {
	if !strings.Contains(s, "NaN") && !strings.Contains(s, "Infinity") {
		return s
	}
	var b strings.Builder
	inString := false
	for i := 0; i < len(s); {
		if !inString {
			if w := bareWord(s[i:]); w != "" {
				b.WriteString(`"` + w + `"`)
				i += len(w)
				continue
			}
		}
		switch {
		case inString && s[i] == '\\' && i+1 < len(s):
			b.WriteByte(s[i])
			i++
		case s[i] == '"':
			inString = !inString
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func bareWord(s string) string {
	for _, w := range []string{"NaN", "-NaN", "Infinity", "-Infinity"} {
		if strings.HasPrefix(s, w) {
			return w
		}
	}
	return ""
}
