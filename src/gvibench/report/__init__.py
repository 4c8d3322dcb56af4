"""Summarise a study: summary, report page, gallery and archive."""
