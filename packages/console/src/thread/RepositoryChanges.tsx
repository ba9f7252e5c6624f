/** What a run in place changed in the repository without an approved git command, as one line. */
import type { RepositoryChanged } from "@corral/domain/run/RepositoryChange"
import { Fragment, type ReactNode } from "react"
import { visibleLine } from "../markdown/visible.ts"
import type { runMessages } from "../run/messages.ts"

interface Props {
  readonly change: RepositoryChanged
  readonly messages: (typeof runMessages)["en"]
}

/** Nothing if no change is known. */
export const RepositoryChanges = ({ change, messages }: Props) => {
  const { count, fileCount = 0, files = [], head, index, refs } = change
  const named = (name: string, note: string): ReactNode => (
    <>
      <code>{visibleLine(name, 400)}</code> ({note})
    </>
  )
  const parts: ReadonlyArray<ReactNode> = [
    ...refs.map(({ from, name, to }) =>
      named(
        name,
        messages.fileChanges[from === undefined ? "created" : to === undefined ? "deleted" : "modified"]
      )
    ),
    ...(head === undefined ? [] : [named("HEAD", visibleLine(head.to, 400))]),
    ...(index === true ? [messages.repositoryIndex] : []),
    ...files.map(({ change, discarded, path }) =>
      named(`.git/${path}`, messages.fileChanges[change] + (discarded === true ? messages.discarded : ""))
    )
  ]
  const more = count - refs.length + fileCount - files.length
  if (parts.length === 0) return null
  return (
    <>
      <strong>{messages.repositoryChanged}</strong>{" "}
      {parts.map((part, at) => (
        // The list of one event does not change.
        <Fragment key={at}>
          {at > 0 && messages.separator}
          {part}
        </Fragment>
      ))}
      {more > 0 && messages.moreChanges(more)}
      {messages.reviewRepository}{" "}
    </>
  )
}
