"""Cut-overs: several tasks that stop at one position, all of them or none."""
