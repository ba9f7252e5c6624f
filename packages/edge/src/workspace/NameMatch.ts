/**
 * How well the path of a file matches what a person types: name before folders, beginnings before parts, whole parts before single letters in
 * order. Pure, and linear in the path.
 */

/** A path of a workspace, prepared for many queries. */
export interface SearchedPath {
  readonly path: string
  readonly kind: "directory" | "file" | "symlink"
  readonly isIgnored: boolean
  /** In lower case. */
  readonly folded: string
  /** Where its last segment begins. */
  readonly nameAt: number
}

export const searchedPath = (path: string, kind: SearchedPath["kind"], isIgnored: boolean): SearchedPath => ({
  path,
  kind,
  isIgnored,
  folded: path.toLowerCase(),
  nameAt: path.lastIndexOf("/") + 1
})

/** Number of ranks. */
export const RANKS = 6

const isSubsequence = (part: string, whole: string, from: number): boolean => {
  let at = 0
  for (let i = from; i < whole.length && at < part.length; i++) if (whole[i] === part[at]) at++
  return at === part.length
}

/** Lower is better; `undefined` is no match. `query`: in lower case. */
export const rankOf = ({ folded, nameAt }: SearchedPath, query: string): number | undefined => {
  const inName = query.includes("/") ? -1 : folded.indexOf(query, nameAt)
  if (inName === nameAt) return 0
  if (inName !== -1) return "-_. ".includes(folded.charAt(inName - 1)) ? 1 : 2
  const inPath = folded.indexOf(query)
  if (inPath !== -1) return inPath === 0 || folded[inPath - 1] === "/" ? 1 : 3
  if (isSubsequence(query, folded, nameAt)) return 4
  return isSubsequence(query, folded, 0) ? 5 : undefined
}

/** Whether the path is an entry of the folder, or of the root. */
export const isEntryOf = ({ folded, nameAt }: SearchedPath, folder: string): boolean =>
  nameAt === folder.length && folded.startsWith(folder)

/** Shorter paths first: they are nearer to the root. */
export const byLength = (a: SearchedPath, b: SearchedPath): number =>
  a.path.length - b.path.length || (a.path < b.path ? -1 : 1)
