"""What a careful person would collect from a lab."""
