/**
 * Names of scripts and targets by which something is removed, replaced, published or deployed: `clean`, `db:reset`, `./scripts/wipe.sh`,
 * `resetDb`. Data and its lookup.
 *
 * Does not: know what a script does. A script of any other name may remove files too.
 */

const removals = new Set(
  (
    "bump clear delete deploy destroy discard down drop eject empty erase expunge flush fresh kill nuke obliterate overwrite prune publish " +
    "purge push release remove reset restore revert rimraf rm rollback scrub shred tag teardown trash truncate undo uninstall unlink unpublish upload " +
    "wipe zap"
  ).split(" ")
)

/** The words of a name: `resetDb` and `reset-db` have the same. */
const wordsOf = (name: string): ReadonlyArray<string> =>
  name
    .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .split(/[^a-z]+/)

export const namesRemoval = (name: string): boolean =>
  wordsOf(name).some((word) => removals.has(word) || word.endsWith("clean") || word.startsWith("clean"))
