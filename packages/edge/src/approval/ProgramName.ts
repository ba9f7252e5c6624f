/**
 * Name of a program, and whether it is a program of the system. Every list of programs is looked up with these two.
 *
 * Rules that ask or raise a risk use `programOf`, which ignores the folder: `./sudo` may be sudo. Rules that allow use `systemProgramOf`:
 * `./cat` may be any program.
 *
 * Does not: resolve a link under another name, or look at `PATH`.
 */

/** GNU programs on systems that have their own version under the plain name: `gsed`, `gtimeout`. */
const ofGnu =
  /^g(awk|sed|tar|find|xargs|env|timeout|nice|nohup|stdbuf|chroot|cat|cp|mv|rm|rmdir|ln|ls|dd|tee|touch|mkdir|install|split|csplit|sort|head|tail|wc|cut|uniq|tr|stat|du|df|date|echo|printf|shred|truncate|chmod|chown|chgrp|kill|mktemp|mknod|readlink|realpath)$/

/** Programs that are installed in several versions: `python3.12`. */
const ofVersion = /^(python|pypy|perl|ruby|php|lua|node|go)-?\d+(\.\d+)*$/

/** A program in a folder of the system or of its package manager. Folders of a user or of one package may contain any program. */
const systemPath =
  /^\/(?:usr\/|usr\/local\/|opt\/homebrew\/|opt\/local\/|home\/linuxbrew\/\.linuxbrew\/)?s?bin\/[^/\\]+$/

const baseOf = (word: string): string => word.split(/[\\/]/).at(-1) ?? ""

/** Canonical name of a program: `/usr/bin/Python3.12`, `python.exe`, `pythonw`, `python3-dbg` and `python` are the same. */
export const programOf = ([word = ""]: ReadonlyArray<string>): string =>
  baseOf(word)
    .toLowerCase()
    .replace(/\.(exe|cmd|bat|ps1)$/, "")
    .replace(/-dbg$/, "")
    .replace(/([a-z])-?\d+(?:\.\d+)*[a-z]?$/, "$1")
    .replace(/^(python|pypy|ruby|perl|java|php|lua|tclsh)w$/, "$1")
    .replace(ofGnu, "$1")

/** Whether a word is a name on `PATH` or a path in a folder of the system. */
export const isOfSystem = (word: string): boolean =>
  word !== "" && (!/[\\/]/.test(word) || systemPath.test(word))

/**
 * Name of a program of the system: of `git`, `/usr/local/bin/git`, `gsed` and `python3.12`. `undefined` for a program elsewhere, and for a
 * spelling that only some file systems accept.
 */
export const systemProgramOf = (words: ReadonlyArray<string>): string | undefined => {
  const [word = ""] = words
  if (!isOfSystem(word)) return undefined
  const base = baseOf(word)
  const name = programOf(words)
  return base === name || ofVersion.test(base) || ofGnu.test(base) ? name : undefined
}
