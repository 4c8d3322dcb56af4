"""Answer what tables, figures and the report ask an aggregate: gaps, efforts, bands and ranks."""
