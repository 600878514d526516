"""The walls, one file each; a self-test tries what they forbid."""
