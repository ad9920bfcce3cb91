package kernel

// mulGo is the product in plain Go.
func mulGo(dst []float32, m *Matrix, a *Activations) {
	for t := range Padded(a.tokens) {
		row := a.bytes[t*a.width:][:a.width]
		for o := range m.out {
			w := m.weights[o/panel*panel*m.in+o%panel*4:]
			sum := int32(0)
			for k := 0; k < m.in; k += 4 {
				for j := range 4 {
					sum += int32(int8(row[k+j])) * int32(w[k*panel+j])
				}
			}
			dst[t*m.out+o] = float32(sum)*(m.scale[o]*a.scale[t]) + m.bias[o]
		}
	}
}
