/** The head of a file in a diff: what happened to it, and the way to open it. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { diffMessages } from "./messages.ts"
import "./diff.css"

interface Props {
  readonly at: number
  readonly file: FileDiff
  readonly open: boolean
  readonly onToggle: () => void
}

export const FileHead = ({ at, file, onToggle, open }: Props) => {
  const messages = useMessages(diffMessages)
  return (
    <button
      type="button"
      className="diff-file"
      aria-expanded={open}
      data-at={at}
      data-path={file.path}
      onClick={onToggle}
    >
      <span aria-hidden="true">{open ? "▾" : "▸"}</span>
      <span className={`diff-status diff-status-${file.status}`}>{messages.status[file.status]}</span>
      <span className="diff-path">
        {visibleText(file.path)}
        {file.fromPath !== undefined && (
          <span className="quiet"> {messages.renamed(visibleText(file.fromPath))}</span>
        )}
      </span>
      <ins className="diff-plus">+{file.additions}</ins>
      <del className="diff-minus">−{file.deletions}</del>
    </button>
  )
}
