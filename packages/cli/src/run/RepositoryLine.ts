/** Changes of a repository in a terminal, as one line. */
import type { RepositoryChanged } from "@corral/domain/run/RepositoryChange"
import { escapeLine } from "../terminal/VisibleText.ts"

/** What changed, and what to do next. */
export const repositoryLine = ({
  count,
  fileCount = 0,
  files = [],
  head,
  incomplete,
  index,
  refs
}: RepositoryChanged): string => {
  const changes = [
    ...refs.map(({ from, name, to }) => {
      const change = from === undefined ? "created" : to === undefined ? "deleted" : "moved"
      return `${escapeLine(name)} (${change})`
    }),
    ...(count > refs.length ? [`${count - refs.length} more refs`] : []),
    ...(head === undefined ? [] : [`HEAD (now ${escapeLine(head.to)})`]),
    ...(index === undefined ? [] : ["the index"]),
    ...files.map(
      ({ change, discarded, path }) =>
        `.git/${escapeLine(path)} (${change}${discarded === true ? ", discarded" : ""})`
    ),
    ...(fileCount > files.length ? [`${fileCount - files.length} more files`] : [])
  ]
  const unread = "Some names in the repository were not compared: it has too many files."
  if (changes.length === 0) return unread
  const changed = `The repository changed without an approved git command: ${changes.join(", ")}. Review it before you commit or push.`
  return incomplete === true ? `${changed} ${unread}` : changed
}
