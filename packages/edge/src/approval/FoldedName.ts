/**
 * Names as file systems compare them. Some ignore case, compatible and invisible characters, and trailing dots and spaces. A copy of the
 * workspace may be on any of them.
 */

/** Nothing to fold. */
const folds = /[^a-z0-9_-]/

/** The name without differences that file systems ignore: case, compatible and invisible characters, trailing dots and spaces, streams. */
export const foldedName = (name: string): string => {
  if (!folds.test(name)) return name
  const folded = name
    .normalize("NFKC")
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, "")
    .toLowerCase()
  const colon = folded.indexOf(":", 1)
  const plain = colon === -1 ? folded : folded.slice(0, colon)
  let end = plain.length
  while (end > 1 && (plain[end - 1] === "." || plain[end - 1] === " ")) end--
  return plain.slice(0, end)
}

/** Whether a path names a file of Git's own data. Some file systems have several spellings for it. */
export const isRepositoryName = (path: string): boolean =>
  path.split(/[\\/]/).some((name) => /^(\.git|git~\d)$/.test(foldedName(name)))
