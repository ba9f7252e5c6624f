/** Tree of changed files as rows: folders with the counts of their files. A folder that contains only one folder is one row with it. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"

export interface FolderRow {
  readonly kind: "folder"
  /** Path of the folder, without a slash at the end. */
  readonly path: string
  readonly name: string
  readonly depth: number
  readonly additions: number
  readonly deletions: number
}

export interface FileRow {
  readonly kind: "file"
  readonly file: FileDiff
  readonly name: string
  readonly depth: number
}

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

const byName = <A>([a]: readonly [string, A], [b]: readonly [string, A]): number =>
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
