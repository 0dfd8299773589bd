"""What pytest leaves to the build of the site, which runs it: settings, gallery and generated pages."""

collect_ignore_glob = ["conf.py", "_extensions", "gallery", "pictures", "reference/generated"]
