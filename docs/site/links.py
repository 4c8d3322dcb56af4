"""Keep the addresses that readers know: anchors as on GitHub, and files under their own paths."""

import shutil
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class GitHubAnchors(SphinxTransform):
    """Add the anchors that GitHub gives to headings, if Sphinx forms other ones."""

    default_priority = 870

    def apply(self, **_):
        for section in self.document.findall(nodes.section):
            slug = section.get("slug")
            if slug and slug not in self.document.ids:
                section["ids"].append(slug)


class LinkedFiles(SphinxTransform):
    """Link to a file itself. Sphinx would copy it to a folder of downloads with a hash as name."""

    default_priority = 870  # before Sphinx collects assets

    def apply(self, **_):
        folder = PurePosixPath(self.env.docname).parent
        for link in list(self.document.findall(addnodes.download_reference)):
            target = link["reftarget"]
            linked_files(self.env).setdefault(self.env.docname, set()).add((folder, target))
            children = [child.deepcopy() for child in link.children]
            link.replace_self(nodes.reference("", "", *children, refuri=target, internal=True))


def linked_files(env):
    """Return the folders and targets of links to files, by page."""
    if not hasattr(env, "linked_files"):
        env.linked_files = {}
    return env.linked_files


def copy_linked_files(app, error):
    """Copy the files that pages link to, under the same paths."""
    if error is not None:
        return
    for links in linked_files(app.env).values():
        for folder, target in links:
            source = Path(app.srcdir, folder, target).resolve()
            copy = Path(app.outdir, source.relative_to(Path(app.srcdir).resolve()))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)


def setup(app):
    """Register the transforms with Sphinx."""
    app.add_transform(GitHubAnchors)
    app.add_transform(LinkedFiles)
    app.connect("build-finished", copy_linked_files)
    return {"parallel_read_safe": False}
