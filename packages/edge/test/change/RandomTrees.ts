/** Trees of files with a change of each, made by seeded choices: renames, modes, links, line ends, binary and empty files, names of any bytes. */
import { type Seeded } from "../harness/Seeded.ts"

export interface TreeFile {
  readonly mode: "100644" | "100755" | "120000"
  readonly content: Buffer
}

/** By the bytes of the path, in Latin-1. */
export type Tree = ReadonlyMap<string, TreeFile>

const NAMES = [
  "a",
  "b.txt",
  "-dash",
  'quo"te',
  "new\nline",
  "sp ace",
  "caf\xe9",
  "\xff\xfe",
  "ok\xef\xbf\xbdE9",
  "tab\tname",
  "back\\slash",
  "*glob?[x]",
  ":colon",
  "été"
] as const
const FOLDERS = ["", "", "src/", "src/inner/", "-d/", 'q"\n/', "\xe9/"] as const

const line = (seeded: Seeded, end: string): string => {
  const words = seeded.whole(0, 3)
  const text = words === 0 ? "" : `${"word ".repeat(words)}${seeded.whole(0, 40)}`
  return `${text}${end}`
}

const textOf = (seeded: Seeded): string => {
  const end = seeded.pick(["\n", "\n", "\n", "\r\n"])
  const lines = Array.from({ length: seeded.whole(0, 60) }, () => line(seeded, end)).join("")
  return seeded.whole(0, 3) === 0 ? lines.replace(/\r?\n$/, "") : lines
}

const binary = (seeded: Seeded): Buffer =>
  Buffer.from(Array.from({ length: seeded.whole(1, 200) }, (_, at) => (at === 0 ? 0 : seeded.whole(0, 255))))

const fileOf = (seeded: Seeded): TreeFile => {
  const kind = seeded.whole(0, 11)
  if (kind === 0) return { mode: "120000", content: Buffer.from(seeded.pick(["a", "../up", "/etc/hosts"])) }
  const mode = kind === 1 ? "100755" : "100644"
  if (kind === 2) return { mode, content: binary(seeded) }
  if (kind === 3) return { mode, content: Buffer.alloc(0) }
  return { mode, content: Buffer.from(textOf(seeded), "latin1") }
}

const pathOf = (seeded: Seeded): string => {
  const name = Buffer.from(seeded.pick(NAMES), seeded.whole(0, 1) === 0 ? "latin1" : "utf8")
  return `${Buffer.from(seeded.pick(FOLDERS), "latin1").toString("latin1")}${name.toString("latin1")}`
}

/** Whether no file is a folder of another one. */
const isTree = (paths: Iterable<string>): boolean => {
  const all = new Set(paths)
  return [...all].every((path) =>
    path.split("/").every((_, at, parts) => at === 0 || !all.has(parts.slice(0, at).join("/")))
  )
}

/** Changes some lines at several places. */
const edited = (seeded: Seeded, content: Buffer): Buffer => {
  const lines = content.toString("latin1").split(/(?<=\n)/)
  const end = content.includes("\r\n") ? "\r\n" : "\n"
  const count = seeded.whole(1, 5)
  for (let at = 0; at < count; at++) {
    const place = seeded.whole(0, lines.length)
    const removed = seeded.whole(0, 3)
    const added = Array.from({ length: seeded.whole(0, 3) }, () => line(seeded, end))
    lines.splice(place, removed, ...added)
  }
  const text = lines.join("")
  return Buffer.from(seeded.whole(0, 7) === 0 ? text.replace(/\r?\n$/, "") : text, "latin1")
}

export interface TreePair {
  readonly base: Tree
  readonly result: Tree
}

/** A tree and what became of it. */
export const randomTrees = (seeded: Seeded): TreePair => {
  const base = new Map<string, TreeFile>()
  for (let at = seeded.whole(1, 9); at > 0; at--) {
    const path = pathOf(seeded)
    if (isTree([...base.keys(), path])) base.set(path, fileOf(seeded))
  }
  const result = new Map(base)
  for (const [path, file] of base) {
    switch (seeded.whole(0, 9)) {
      case 0:
        result.delete(path)
        break
      case 1: {
        const other = pathOf(seeded)
        result.delete(path)
        if (isTree([...result.keys(), other])) result.set(other, file)
        break
      }
      case 2:
        result.set(path, fileOf(seeded))
        break
      case 3:
        if (file.mode !== "120000")
          result.set(path, { ...file, mode: file.mode === "100644" ? "100755" : "100644" })
        break
      case 4:
        break
      default:
        if (file.mode !== "120000") result.set(path, { ...file, content: edited(seeded, file.content) })
    }
  }
  for (let at = seeded.whole(0, 3); at > 0; at--) {
    const path = pathOf(seeded)
    if (!result.has(path) && isTree([...result.keys(), path])) result.set(path, fileOf(seeded))
  }
  return { base, result }
}
