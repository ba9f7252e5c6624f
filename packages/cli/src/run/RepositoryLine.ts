/** Changes of a repository in a terminal, as one line. */
import type { RepositoryChanged } from "@corral/domain/run/RepositoryChange"
import { escapeLine } from "../terminal/VisibleText.ts"

/** What changed, and what to do next. */
export const repositoryLine = ({ count, head, index, refs }: RepositoryChanged): string => {
  const changes = [
    ...refs.map(({ from, name, to }) => {
      const change = from === undefined ? "created" : to === undefined ? "deleted" : "moved"
      return `${escapeLine(name)} (${change})`
    }),
    ...(count > refs.length ? [`${count - refs.length} more refs`] : []),
    ...(head === undefined ? [] : [`HEAD (now ${escapeLine(head.to)})`]),
    ...(index === undefined ? [] : ["the index"])
  ]
  return `The repository changed without an approved git command: ${changes.join(", ")}. Review it before you commit or push.`
}
