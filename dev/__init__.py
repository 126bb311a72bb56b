"""What only development needs: setting up, real servers for tests and the demo."""
