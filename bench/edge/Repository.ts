/** A git repository with many small files, committed, as the workspace of a server. */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const FILES_A_FOLDER = 100

/** Fills the folder with files of at least this size and commits all of it. */
export const makeRepository = (folder: string, files: number, size = 0): void => {
  for (let file = 0; file < files; file++) {
    const inner = join(folder, `part${Math.floor(file / FILES_A_FOLDER)}`)
    if (file % FILES_A_FOLDER === 0) mkdirSync(inner, { recursive: true })
    const line = `export const value${file} = ${file}\n`
    writeFileSync(join(inner, `file${file}.ts`), line.repeat(Math.max(1, Math.ceil(size / line.length))))
  }
  const author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("git", ["-C", folder, "-c", "gc.auto=0", ...author, ...args], { stdio: "ignore" })
  git("init")
  git("add", "--all")
  git("commit", "--quiet", "--message", "files")
}
