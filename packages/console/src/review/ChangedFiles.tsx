/**
 * Tree of the changed files: their counts and which ones are viewed. A click goes to the file. A folder that contains only one folder is one row
 * with it.
 */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { useMemo, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { reviewMessages } from "./messages.ts"
import type { ReviewFile } from "./useChanges.ts"
import "../diff/diff.css"
import "./tree.css"

interface FolderRow {
  readonly kind: "folder"
  /** Path of the folder, without a slash at the end. */
  readonly path: string
  readonly name: string
  readonly depth: number
  readonly additions: number
  readonly deletions: number
}

interface FileRow {
  readonly kind: "file"
  readonly file: FileDiff
  readonly name: string
  readonly depth: number
}

/** A folder with the counts of its files, or a file. */
export type TreeRow = FolderRow | FileRow

interface Folder {
  readonly folders: Map<string, Folder>
  readonly files: Array<readonly [name: string, file: FileDiff]>
  additions: number
  deletions: number
}

const emptyFolder = (): Folder => ({ folders: new Map(), files: [], additions: 0, deletions: 0 })

const treeOf = (files: ReadonlyArray<FileDiff>): Folder => {
  const root = emptyFolder()
  for (const file of files) {
    const names = file.path.split("/")
    const name = names.pop() ?? ""
    let folder = root
    for (const each of names) {
      const next = folder.folders.get(each) ?? emptyFolder()
      folder.folders.set(each, next)
      next.additions += file.additions
      next.deletions += file.deletions
      folder = next
    }
    folder.files.push([name, file])
  }
  return root
}

const byName = <A,>([a]: readonly [string, A], [b]: readonly [string, A]): number =>
  a < b ? -1 : a > b ? 1 : 0

/** Rows in order, folders first. `isClosed` hides what is in a folder. */
export const changedTree = (
  files: ReadonlyArray<FileDiff>,
  isClosed: (path: string) => boolean
): ReadonlyArray<TreeRow> => {
  const rows: Array<TreeRow> = []
  const walk = (folder: Folder, above: string, depth: number): void => {
    for (const [firstName, first] of [...folder.folders].sort(byName)) {
      let [name, current] = [firstName, first]
      while (current.files.length === 0 && current.folders.size === 1) {
        const [only] = current.folders
        if (only === undefined) break
        name = `${name}/${only[0]}`
        current = only[1]
      }
      const path = above + name
      const { additions, deletions } = current
      rows.push({ kind: "folder", path, name, depth, additions, deletions })
      if (!isClosed(path)) walk(current, `${path}/`, depth + 1)
    }
    for (const [name, file] of folder.files.toSorted(byName)) rows.push({ kind: "file", file, name, depth })
  }
  walk(treeOf(files), "", 0)
  return rows
}

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
