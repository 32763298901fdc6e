package stats

// FlagOneInStratum: a stratum of a single task tells nothing of its spread.
const FlagOneInStratum = "a stratum of one task"

// StratifiedCI is the interval of the mean of per-task rates for new tasks of
// these same strata (task i belongs to strata[i]; any numbers), the strata being
// an exhaustive list and no sample:
//
//	SE² = Σ (W_g/W)² SE_g²,   SE_g² = T_g/(T_g-1) · Σ w²e² / W_g²
//
// with residuals e from the mean of the stratum, and Welch and Satterthwaite's
// degrees of freedom (ΣV_g)² / Σ V_g²/(T_g-1), V_g = (W_g/W)² SE_g² (Cochran
// 1977; Satterthwaite 1946). The interval is Wilson's on n_eff = m(1-m)/SE² with
// the t quantile, and exact as in PassCI when every value is 1 or 0. Clusters of
// the result counts the strata. Without any spread, and where a stratum has a
// single task, there is no interval; flags as of PassCI. Values outside [0, 1] are
// errors, as are the bad arguments of MeanSE.
func StratifiedCI(values, weights []float64, strata []int, conf float64) (PassInterval, error) {
	if err := checkConf(conf); err != nil {
		return PassInterval{}, err
	}
	s, err := newItems(values, weights, strata, nil)
	if err != nil {
		return PassInterval{}, err
	}
	below, above, err := s.rates(values)
	if err != nil {
		return PassInterval{}, err
	}
	r := s.noInterval()
	if s.exact(&r, below, above, len(s.v), conf) {
		return r, nil
	}
	variance, df, single := s.withinGroups()
	if single {
		r.Method = FlagOneInStratum
		return r, nil
	}
	s.wilsonT(&r, variance, df, conf)
	return r, nil
}

// withinGroups is the stratified variance of the mean and its degrees of freedom;
// single says that a group has one task. It leaves the residuals from the groups'
// means in s.e.
func (s *items) withinGroups() (variance, df float64, single bool) {
	t, w, mean, ss := make([]float64, s.groups), make([]float64, s.groups), make([]float64, s.groups), make([]float64, s.groups)
	for i, g := range s.g {
		t[g]++
		w[g] += s.w[i]
		mean[g] += s.w[i] * s.v[i]
	}
	for g := range mean {
		mean[g] /= w[g]
		single = single || t[g] == 1
	}
	s.e = make([]float64, len(s.v))
	for i, g := range s.g {
		s.e[i] = s.w[i] / s.total * (s.v[i] - mean[g])
		ss[g] += s.e[i] * s.e[i]
	}
	squares := 0.0
	for g, sum := range ss {
		v := t[g] / (t[g] - 1) * sum
		variance += v
		squares += v * v / (t[g] - 1)
	}
	return variance, variance * variance / squares, single
}
