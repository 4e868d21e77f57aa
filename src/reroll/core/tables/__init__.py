"""Facts: workload kinds, source kinds, reasons, fields, rights."""
