"""What every public call passes: the gate, the thread that no interrupt reaches."""
