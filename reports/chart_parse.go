package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// chartTypes are the pictures there are: bars from zero, points joined by a
// line, and points alone.
var chartTypes = []string{"line", "bar", "points"}

// parseChart reads "bar x=task_id y=rate lower=lower upper=upper range=0..1
// title=How often"; a second and further y are lines or bars of their own. The
// title comes last and may hold spaces.
func parseChart(rest string) (*Chart, error) {
	words := strings.Fields(rest)
	if len(words) == 0 || !slices.Contains(chartTypes, words[0]) {
		return nil, fmt.Errorf("the type is to be line or bar, or points, as in \"line x=k y=pass_hat_k\"")
	}
	c := &Chart{Type: words[0]}
	for i, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if ok && key == "title" {
			c.Title = strings.TrimSpace(strings.Join(append([]string{value}, words[i+2:]...), " "))
			break
		}
		if err := c.set(key, value, ok); err != nil {
			return nil, fmt.Errorf("%q: %w", w, err)
		}
	}
	if c.X == "" || c.Y == "" {
		return nil, fmt.Errorf("x and y are both wanted")
	}
	if (c.Lower == "") != (c.Upper == "") {
		return nil, fmt.Errorf("lower and upper go together")
	}
	return c, nil
}

func (c *Chart) set(key, value string, ok bool) error {
	if ok && key == "range" {
		return c.setRange(value)
	}
	if ok && key == "order" && reColumn.MatchString(value) {
		c.Order = strings.ReplaceAll(value, "_", " ")
		return nil
	}
	if !ok || !reColumn.MatchString(value) {
		return fmt.Errorf("column=name is wanted")
	}
	switch key {
	case "x":
		c.X = value
	case "y":
		if c.Y == "" {
			c.Y = value
		} else {
			c.MoreY = append(c.MoreY, value)
		}
	case "lower":
		c.Lower = value
	case "upper":
		c.Upper = value
	case "series":
		c.Series = value
	default:
		return fmt.Errorf("unknown key %q; there are x, y, lower, upper, series, order, range, title", key)
	}
	return nil
}

func (c *Chart) setRange(text string) error {
	low, high, ok := strings.Cut(text, "..")
	a, errA := strconv.ParseFloat(low, 64)
	b, errB := strconv.ParseFloat(high, 64)
	if !ok || errA != nil || errB != nil || !(a < b) || b-a > 1e300 {
		return fmt.Errorf("the ends of the axis of y are wanted, as in range=0..1")
	}
	c.Range = &[2]float64{a, b}
	return nil
}

// ys are the columns that a chart shows, the one with the interval first.
func (c *Chart) ys() []string { return append([]string{c.Y}, c.MoreY...) }

// shareName says whether a column is by its name a share of 1.
func shareName(name string) bool {
	switch name {
	case "share", "rate", "pass_at_k", "pass_hat_k", "pass_1", "stable_share", "coverage":
		return true
	}
	return strings.HasPrefix(name, "share_") || strings.HasPrefix(name, "pass_hat_k_") ||
		strings.HasSuffix(name, "_share") || strings.HasSuffix(name, "_rate")
}

// share says whether a column holds shares of 1, declared or by its name.
func (c *Column) share() bool {
	return (c.Kind == Float || c.Kind == Number) && (c.Percent || shareName(c.Name))
}
