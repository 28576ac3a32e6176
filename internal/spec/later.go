package spec

// This file lists what the design has and this version does not: whoever uses
// it is told so, instead of that it is unknown. What is built is removed here.

// Later are the fields of later versions.
func (Common) Later() []string { return []string{"backup", "notify"} }

// Later are the fields of later versions.
func (CopySpec) Later() []string { return []string{"types", "values"} }

// Later are the fields of later versions.
func (TableSpec) Later() []string { return []string{"columns"} }

// Later are the fields of later versions.
func (StepCommon) Later() []string { return []string{"backup", "notify"} }

// Later are the fields of later versions.
func (CopyStep) Later() []string { return append(StepCommon{}.Later(), CopySpec{}.Later()...) }

// Later are the fields of later versions.
func (HTTPStep) Later() []string { return []string{"undo"} }

// Later are the fields of later versions.
func (Verify) Later() []string { return []string{"repair"} }

// Later are the values of later versions.
func (CopyMode) Later() []string { return []string{"live"} }

// Later are the values of later versions.
func (SourceAfter) Later() []string { return []string{"fence"} }
