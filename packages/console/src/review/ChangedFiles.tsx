/** Tree of the changed files: their counts and which ones are viewed. A click goes to the file. */
import { useMemo, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { changedTree } from "./changedTree.ts"
import type { ReviewFile } from "./useChanges.ts"
import { reviewMessages } from "./messages.ts"
import "../diff/diff.css"
import "./tree.css"

interface Props {
  readonly files: ReadonlyArray<ReviewFile>
  readonly isViewed: (file: ReviewFile) => boolean
  readonly onFile: (path: string) => void
}

const Counts = ({ additions, deletions }: { readonly additions: number; readonly deletions: number }) => (
  <span className="tree-counts">
    {additions > 0 && <ins className="diff-plus">+{additions}</ins>}{" "}
    {deletions > 0 && <del className="diff-minus">−{deletions}</del>}
  </span>
)

export const ChangedFiles = ({ files, isViewed, onFile }: Props) => {
  const messages = useMessages(reviewMessages)
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(
    () =>
      changedTree(
        files.map(({ diff }) => diff),
        (path) => closed.has(path)
      ),
    [files, closed]
  )
  const byDiff = useMemo(() => new Map(files.map((file) => [file.diff, file])), [files])
  const toggle = (path: string) => {
    const next = new Set(closed)
    if (!next.delete(path)) next.add(path)
    setClosed(next)
  }
  return (
    <nav className="tree" aria-label={messages.tree}>
      <ul className="tree-rows">
        {rows.map((row) => {
          const style = { paddingInlineStart: `${Math.min(row.depth, 12)}rem` }
          if (row.kind === "folder")
            return (
              <li key={`folder ${row.path}`} style={style}>
                <button
                  type="button"
                  className="tree-row"
                  aria-expanded={!closed.has(row.path)}
                  onClick={() => toggle(row.path)}
                >
                  <Icon name={closed.has(row.path) ? "folder" : "folderOpen"} />
                  <span className="tree-name">{visibleLine(row.name, 400)}</span> <Counts {...row} />
                </button>
              </li>
            )
          const file = byDiff.get(row.file)
          const viewed = file !== undefined && isViewed(file)
          return (
            <li key={`file ${row.file.path}`} style={style}>
              <button type="button" className="tree-row" onClick={() => onFile(row.file.path)}>
                <Icon name={viewed ? "check" : "file"} />
                <span className={viewed ? "tree-name quiet" : "tree-name"}>{visibleLine(row.name, 400)}</span>
                {viewed && <span className="hidden"> {messages.viewed}</span>} <Counts {...row.file} />
              </button>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
