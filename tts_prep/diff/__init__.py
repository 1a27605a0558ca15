"""What differs between two stores."""
