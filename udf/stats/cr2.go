package stats

import "math"

// cr2 is the bias-reduced sandwich under the working model of independent tasks
// of equal variance (Bell and McCaffrey 2002). With M = I - 1w'/W - w1'/W + 11'Q/W²
// of a cluster, Q = Σw² over the suite, the adjusted weights are a = M^(-1/2) w.
// M differs from the identity only in the span of 1 and w, so a is found there, in
// the orthonormal basis 1/√t, (w - w̄)/√dev2. All sums are of positive terms, so
// that a cluster of nearly all the weight costs no digits.
func (s *items) cr2(cl []cluster) (variance, df float64) {
	rest := others(cl)
	adjusted := make([]adjusted, len(cl))
	for i := range cl {
		c := &cl[i]
		a := c.adjust(rest[i], s.total)
		score := a.y1 * c.e / math.Sqrt(c.t)
		if a.x2 > 0 {
			score += a.y2 * c.devE / a.x2
		}
		variance += c.m * score * score / (s.total * s.total)
		a.m = c.m
		adjusted[i] = a
	}
	return variance, cr2DF(adjusted)
}

// A rest is what the other clusters hold: sums of weights and of their squares.
type rest struct{ w, w2 float64 }

// others adds up, for each cluster, the clusters before and after it, and those
// alike.
func others(cl []cluster) []rest {
	out := make([]rest, len(cl))
	var sum rest
	for i, c := range cl {
		out[i] = rest{sum.w + (c.m-1)*c.w, sum.w2 + (c.m-1)*c.w2}
		sum.w, sum.w2 = sum.w+c.m*c.w, sum.w2+c.m*c.w2
	}
	sum = rest{}
	for i := len(cl) - 1; i >= 0; i-- {
		out[i].w, out[i].w2 = out[i].w+sum.w, out[i].w2+sum.w2
		sum.w, sum.w2 = sum.w+cl[i].m*cl[i].w, sum.w2+cl[i].m*cl[i].w2
	}
	return out
}

// An adjusted cluster: w and a = M^(-1/2) w in the basis of cr2, and what the
// degrees of freedom are made of, all over W.
type adjusted struct {
	m          float64 // how many clusters alike
	x2, y1, y2 float64 // second coordinate of w; a
	w2         float64 // w'w, which is a'Ma
	s          float64 // 1'a
	tau        float64 // w'a
	kappa      float64 // w'a - 1'a·Q/W, without its cancellation
}

// adjust is M^(-1/2) w. In the basis M is [m11 -b; -b 1] with b = √(t·dev2)/W and
// the determinant r² = (1-h)² + t·Q°/W², h = w/W of the cluster, Q° = Σw² outside.
func (c *cluster) adjust(out rest, total float64) adjusted {
	dev := math.Sqrt(c.dev2)
	if dev <= 1e-14*c.w {
		dev = 0
	}
	root := math.Sqrt(c.t)
	x1, x2, b := c.w/root, dev, root*dev/total
	free := out.w / total // 1-h
	det := free*free + c.t*out.w2/(total*total)
	r := math.Sqrt(det)
	m11 := det + b*b
	trace := math.Sqrt(m11 + 1 + 2*r)
	a := adjusted{x2: x2, w2: c.w2 / (total * total)}
	a.y1 = ((1+r)*x1 + b*x2) / (r * trace)
	a.y2 = ((m11+r)*x2 + b*x1) / (r * trace)
	a.s = root * a.y1 / total
	a.tau = (x1*a.y1 + x2*a.y2) / (total * total)
	own := free*x1*a.y1 + x2*x2*(r+free)/trace // w'a - 1'a·w'w/W
	a.kappa = own/(total*total) - a.s*out.w2/(total*total)
	return a
}

// cr2DF is (tr K)²/ΣK² (Satterthwaite 1946; Pustejovsky and Tipton 2018) with
// K_gg = w'w and, between clusters,
//
//	K_gh = s_g s_h Q/W² - s_g τ_h - s_h τ_g = -s_h κ_g - s_g τ_h.
//
// The pairs with the cluster of the largest share, where the first form cancels,
// are added one by one in the second.
func cr2DF(cl []adjusted) float64 {
	first := 0
	for i, c := range cl {
		if c.s > cl[first].s {
			first = i
		}
	}
	var q, own, ss, tt, st, diagonal, pairs float64
	for _, c := range cl {
		q += c.m * c.w2
		own += c.m * c.w2 * c.w2
	}
	for i, c := range cl {
		m := c.m
		if i == first {
			if m--; m == 0 {
				continue
			}
		}
		k := c.s*cl[first].kappa + cl[first].s*c.tau
		pairs += 2 * m * k * k
		low := c.s * (c.s*q - 2*c.tau)
		diagonal += m * low * low
		ss += m * c.s * c.s
		tt += m * c.tau * c.tau
		st += m * c.s * c.tau
	}
	low := 2*(ss*tt+st*st) - 4*q*ss*st + q*q*ss*ss - diagonal
	return q * q / (own + pairs + max(0, low))
}
