"""What every public call passes through: the gate, and the thread that no interrupt reaches."""
