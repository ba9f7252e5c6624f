/** What is in a folder, to see whether something changed. */
import { createHash } from "node:crypto"
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { join } from "node:path"

/** A line for each entry, with its permissions and what it contains. Paths begin after `root`. */
export const folderContents = (
  root: string,
  folder: string = root,
  isLeftOut: (path: string) => boolean = () => false
): ReadonlyArray<string> => {
  const lines: Array<string> = []
  const visit = (path: string): void => {
    if (isLeftOut(path)) return
    const stat = lstatSync(path)
    const name = path.slice(root.length)
    const mode = (stat.mode & 0o7777).toString(8)
    if (stat.isSymbolicLink()) lines.push(`${name} -> ${readlinkSync(path)}`)
    else if (stat.isDirectory()) {
      lines.push(`${name}/ ${mode}`)
      for (const entry of readdirSync(path).toSorted()) visit(join(path, entry))
    } else if (stat.isFile()) {
      const hash = createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 16)
      lines.push(`${name} ${mode} ${stat.uid} ${stat.nlink} ${hash}`)
    } else lines.push(`${name} special`)
  }
  visit(folder)
  return lines
}
