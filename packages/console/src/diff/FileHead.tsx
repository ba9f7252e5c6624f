/** The head of a file in a diff: what happened to it, and the way to open it. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { visible } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { diffWords } from "./messages.ts"
import "./diff.css"

interface Props {
  readonly at: number
  readonly file: FileDiff
  readonly open: boolean
  readonly onToggle: () => void
}

export const FileHead = ({ at, file, onToggle, open }: Props) => {
  const words = useWords(diffWords)
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
      <span className={`diff-status diff-status-${file.status}`}>{words.status[file.status]}</span>
      <span className="diff-path">
        {visible(file.path)}
        {file.fromPath !== undefined && (
          <span className="quiet"> {words.renamed(visible(file.fromPath))}</span>
        )}
      </span>
      <ins className="diff-plus">+{file.additions}</ins>
      <del className="diff-minus">−{file.deletions}</del>
    </button>
  )
}
