"""The walls, one file each; every one is applied by doing and tested by trying what it forbids."""
