"""Plan a study: config, jobs, resources and the state of their files."""
