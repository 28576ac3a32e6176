package spec

// Choices are the valid values.
func (VerifyMode) Choices() []string { return texts(Checksum, Count, NoVerify) }

// Choices are the valid values.
func (OnFailure) Choices() []string { return texts(Hold, Rollback) }

// Choices are the valid values.
func (OnTimeout) Choices() []string { return texts(TimeoutRetry, TimeoutFail, TimeoutRollback) }

// Choices are the valid values.
func (Reaction) Choices() []string { return texts(ThenHold, ThenStop) }

// Choices are the valid values.
func (CopyMode) Choices() []string { return texts(Offline) }

// Choices are the valid values.
func (SchemaMode) Choices() []string { return texts(CreateSchema, ExistingSchema) }

// Choices are the valid values.
func (ExistingRows) Choices() []string { return texts(RefuseRows, ReplaceRows) }

// Choices are the valid values.
func (CutoverMode) Choices() []string { return texts(AutoCutover, ManualCutover) }

// Choices are the valid values.
func (SourceAfter) Choices() []string { return texts(LeaveSource) }

// Choices are the valid values.
func (RowBackup) Choices() []string { return texts(BackupRows, NoBackup) }

// Choices are the valid values.
func (DDLStrategy) Choices() []string { return texts(AutoStrategy, DirectStrategy, ShadowStrategy) }

// Choices are the valid values.
func (IndexTime) Choices() []string { return texts(AutoIndexes, AfterIndexes, InlineIndexes) }

// Choices are the valid values.
func (BuildStrategy) Choices() []string { return texts(AutoBuild, InPlace, ShadowBuild) }

// Choices are the valid values.
func (StepReaction) Choices() []string {
	return texts(StepRetry, StepSkip, StepRollback, StepHold)
}

// Choices are the valid values.
func (HTTPMethod) Choices() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
}

func texts[T ~string](values ...T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}
