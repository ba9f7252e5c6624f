/**
 * A small repository for runs in layers: two files whose lines are far apart, one of them not committed, and an ignored folder. `LineFiles` has
 * what those two files should contain in the workspace or in a layer.
 */
import { assert } from "@effect/vitest"
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { folderContents } from "../../src/confinement/probe/EscapeScene.ts"
import { commitAll, git, repository } from "../workspace/Repository.ts"
import { filesIn } from "./ChangedFiles.ts"
import { README } from "./Stage.ts"

export const COMMITTED = "notes.md"
export const UNCOMMITTED = "draft.md"
export const IGNORED = "build/out.txt"
export const BUILT = "built by the owner"
const OTHERS = { "README.md": README, [IGNORED]: `${BUILT}\n` }

/** Lines of each file: enough for edits of five turns that are separate hunks. */
const LINES = 100

/** A line as it was at first. */
export const lineOf = (file: string, line: number): string =>
  `${file.slice(0, -".md".length)} line ${String(line).padStart(3, "0")}`

const fileOf = (file: string): ReadonlyArray<string> =>
  Array.from({ length: LINES }, (_, at) => lineOf(file, at + 1))

const textOf = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\n`).join("")

/** Fills the folder, which has a file already. */
export const fillLayerWorkspace = (root: string): void => {
  repository(root)
  writeFileSync(join(root, ".gitignore"), "build/\n")
  writeFileSync(join(root, COMMITTED), textOf(fileOf(COMMITTED)))
  commitAll(root)
  writeFileSync(join(root, UNCOMMITTED), textOf(fileOf(UNCOMMITTED)))
  mkdirSync(join(root, "build"))
  writeFileSync(join(root, IGNORED), OTHERS[IGNORED])
}

/** The owner's repository, without the refs of the Edge and the objects behind them. */
export const repositoryOf = (root: string): ReadonlyArray<string> => {
  const folder = join(root, ".git")
  const ofEdge = ["objects", "refs/corral", "logs/refs/corral"].map((name) => join(folder, name))
  return [
    ...folderContents(folder, folder, (path) => ofEdge.includes(path)),
    ...git(root, "for-each-ref")
      .split("\n")
      .filter((ref) => !/\trefs\/corral\//.test(ref))
  ]
}

/** A line of a file. */
export interface LinePlace {
  readonly file: string
  readonly line: number
}

/** The two files, some of whose lines are replaced. */
export class LineFiles {
  private readonly files: ReadonlyMap<string, Array<string>> = new Map(
    [COMMITTED, UNCOMMITTED].map((file) => [file, [...fileOf(file)]])
  )

  private linesOf(file: string): Array<string> {
    const lines = this.files.get(file)
    assert.isDefined(lines, file)
    return lines ?? []
  }

  get({ file, line }: LinePlace): string {
    return this.linesOf(file)[line - 1] ?? ""
  }

  set({ file, line }: LinePlace, text: string): void {
    this.linesOf(file)[line - 1] = text
  }

  /** Takes all lines of another one. */
  setAll({ files }: LineFiles): void {
    for (const [file, lines] of files) this.linesOf(file).splice(0, LINES, ...lines)
  }

  /** Writes a file as a person does. */
  write(root: string, file: string): void {
    writeFileSync(join(root, file), textOf(this.linesOf(file)))
  }

  /** Lines of `sha256sum`. */
  get hashes(): ReadonlyArray<string> {
    return [...this.files].map(
      ([file, lines]) => `${createHash("sha256").update(textOf(lines)).digest("hex")}  ${file}`
    )
  }

  /** The folder has these lines, the other files of the owner as they were, and no more. */
  assertIn(root: string): void {
    const files = Object.fromEntries([...this.files].map(([file, lines]) => [file, textOf(lines)]))
    assert.deepStrictEqual(Object.fromEntries(filesIn(root)), { ...OTHERS, ...files })
  }

  /** A key for each line that differs from that of `base`, as `hunkKey` makes it. */
  changesFrom(base: LineFiles): ReadonlyArray<string> {
    return [...this.files].flatMap(([file, lines]) =>
      lines.flatMap((_, at) => {
        const place = { file, line: at + 1 }
        const [before, after] = [base.get(place), this.get(place)]
        return before === after ? [] : [hunkKey(file, [`-${before}`, `+${after}`])]
      })
    )
  }
}

/** A hunk as text: its file and its lines without those around them. */
export const hunkKey = (file: string, lines: ReadonlyArray<string>): string =>
  [file, ...lines.filter((line) => !line.startsWith(" "))].join("\n")
