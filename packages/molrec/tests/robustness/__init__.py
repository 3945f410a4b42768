"""What a record survives: kills, failing calls, torn writes, power loss, flipped bits, full disks, other writers."""
