/**
 * A scratch folder with a workspace of generated folders, files, links and hard links, and canaries outside of it.
 *
 * What is protected is known from how the tree was made: `violations` compares it with the real file system, and asks no policy.
 */
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import type { Seeded } from "../../harness/Seeded.ts"

type Names = readonly [string, ...ReadonlyArray<string>]
const names = (text: string): Names => text.split(" ") as unknown as Names // never empty

export const FOLDERS = names("src docs lib test deep data assets web")
export const FILES = names("a.ts b.js main.py c.go notes.txt page.md table.csv lib.rs")
/** Made only as protected files and folders: nothing of these names may appear or change. */
export const PROTECTED_FOLDERS = names(
  ".git .github .claude .config .vscode .husky node_modules .pi vendor scripts .githooks .opencode"
)
export const PROTECTED_FILES = names(
  ".envrc .bashrc package.json Makefile CLAUDE.md AGENTS.md vitest.config.ts conftest.py build.rs setup.py .mcp.json lefthook.yml " +
    "opencode.json mise.toml pre-commit settings.local.json gulpfile.js Dockerfile requirements.txt"
)
export const CANARY = "CANARY-0d4f"

const has = (list: Names, name: string): boolean =>
  list.some((each) => each.toLowerCase() === name.toLowerCase())

/** A file of a protected name, or anything in a folder of one. A folder that is named like a hook is none. */
const isProtected = (path: string): boolean => {
  const folders = path.split("/")
  const file = folders.pop() ?? ""
  return (
    has(PROTECTED_FILES, file) ||
    folders.some((name) => has(PROTECTED_FOLDERS, name) || (name.includes(".") && has(PROTECTED_FILES, name)))
  )
}

export class GeneratedTree {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-tree-")))
  readonly root = join(this.folder, "ws")
  readonly outside = join(this.folder, "outside")
  /** Relative paths of the workspace, protected ones and links too. */
  readonly paths: Array<string> = []
  private readonly guarded = new Map<string, string>()
  private readonly random: Seeded

  constructor(random: Seeded) {
    this.random = random
    mkdirSync(this.root)
    mkdirSync(join(this.outside, "src"), { recursive: true })
    for (const name of ["key", ".bashrc", "src/a.ts", "notes.txt"]) this.guard(join(this.outside, name))
    const folders = ["."]
    for (let left = random.whole(3, 7); left > 0; left--)
      folders.push(this.makeFolder(join(this.pick(folders), random.pick(FOLDERS))))
    for (let left = random.whole(2, 5); left > 0; left--) {
      const folder = this.makeFolder(join(this.pick(folders), random.pick(PROTECTED_FOLDERS)))
      this.guard(join(this.root, folder, random.pick([...FILES, ...PROTECTED_FILES])))
      if (random.whole(1, 3) === 1)
        this.guard(join(this.root, this.makeFolder(join(folder, "hooks")), "pre-commit"))
    }
    for (let left = random.whole(3, 6); left > 0; left--)
      this.guard(join(this.root, this.pick(folders), random.pick(PROTECTED_FILES)))
    for (let left = random.whole(4, 8); left > 0; left--) {
      const path = join(this.pick(folders), random.pick(FILES))
      const at = join(this.root, path)
      if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) continue
      writeFileSync(at, "ordinary\n")
      this.paths.push(path)
      if (random.whole(1, 6) === 1) {
        chmodSync(at, 0o755)
        this.guard(at)
      }
    }
    for (let left = random.whole(3, 8); left > 0; left--) this.link(folders)
    for (let left = random.whole(1, 3); left > 0; left--) this.hardLink(folders)
  }

  private pick(list: ReadonlyArray<string>): string {
    return list[this.random.whole(0, list.length - 1)] ?? "."
  }

  private makeFolder(path: string): string {
    mkdirSync(join(this.root, path), { recursive: true })
    if (!this.paths.includes(path)) this.paths.push(path)
    return path
  }

  /** A file that must stay as it is. */
  private guard(at: string): void {
    if (lstatSync(at, { throwIfNoEntry: false }) === undefined) {
      mkdirSync(dirname(at), { recursive: true })
      writeFileSync(at, at.startsWith(this.outside) ? `${CANARY}\n` : "protected\n")
    }
    this.guarded.set(at, readFileSync(at, "utf8"))
    if (at.startsWith(this.root)) this.paths.push(relative(this.root, at))
  }

  private link(folders: ReadonlyArray<string>): void {
    const { random } = this
    const path = join(this.pick(folders), random.pick([...FOLDERS, ...FILES, "link", "same"]))
    const at = join(this.root, path)
    if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) return
    const inside = join(this.root, this.pick(this.paths))
    const to = random.pick([
      inside,
      relative(dirname(at), inside),
      relative(dirname(at), inside),
      this.outside,
      relative(dirname(at), join(this.outside, "key")),
      join(this.outside, "notes.txt"),
      relative(dirname(at), this.folder),
      join(this.outside, "new.txt"),
      random.pick(PROTECTED_FILES),
      `${random.pick(FOLDERS)}/${random.pick(FILES)}`,
      "..",
      "../..",
      "/proc/self/cwd",
      path
    ])
    symlinkSync(to === "" ? "." : to, at)
    this.paths.push(path)
  }

  private hardLink(folders: ReadonlyArray<string>): void {
    const guarded = [...this.guarded.keys()]
    const from = this.pick(guarded)
    const path = join(this.pick(folders), this.random.pick(FILES))
    const at = join(this.root, path)
    if (lstatSync(at, { throwIfNoEntry: false }) !== undefined || !lstatSync(from).isFile()) return
    linkSync(from, at)
    this.paths.push(path)
    this.guarded.set(at, readFileSync(at, "utf8"))
  }

  /** What is not as it was made: protected files that changed or went, files that appeared outside or under protected names. */
  violations(where: "anywhere" | "outside" = "anywhere"): ReadonlyArray<string> {
    const found: Array<string> = []
    for (const [path, content] of this.guarded) {
      if (where === "outside" && path.startsWith(this.root)) continue
      const now = lstatSync(path, { throwIfNoEntry: false })
      if (now?.isFile() !== true || readFileSync(path, "utf8") !== content) found.push(`changed: ${path}`)
    }
    const walk = (folder: string): void => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const at = join(folder, entry.name)
        if (entry.isDirectory()) walk(at)
        if (this.guarded.has(at) || entry.isSymbolicLink() || entry.isDirectory()) continue
        if (!at.startsWith(`${this.root}/`)) found.push(`appeared outside: ${at}`)
        else if (where === "anywhere" && isProtected(relative(this.root, at))) found.push(`appeared: ${at}`)
      }
    }
    walk(this.folder)
    return found
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
