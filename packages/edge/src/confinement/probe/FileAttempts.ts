/**
 * Attempts to change files, and the state of a runtime, of which the run has a private copy. All files are the probe's own.
 */
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { type Attempts, runShell } from "./Attempts.ts"

/** Names in the state of the probe. The run sees those of `SETTINGS`, read-only. */
export const SETTINGS = ["settings.json", "hooks"]
const OTHERS = ["history.jsonl", "conversations/other.jsonl", "auth.json"]

/** Makes the user's state. */
export const makeState = (folder: string, write: (path: string, content: string) => void): void => {
  for (const name of ["settings.json", "hooks/start.sh", ...OTHERS]) write(join(folder, name), "kept")
}

/** Attempts that fail in the run. */
export const stateAttempts = (folder: string): Attempts => ({
  "change its settings": () => fs.appendFileSync(join(folder, "settings.json"), "x"),
  "replace its settings": () => {
    fs.writeFileSync(join(folder, "settings.new"), "x")
    fs.renameSync(join(folder, "settings.new"), join(folder, "settings.json"))
  },
  "add a hook": () => fs.writeFileSync(join(folder, "hooks", "stop.sh"), "x"),
  "rename its hooks": () => fs.renameSync(join(folder, "hooks"), join(folder, "old")),
  ...Object.fromEntries(OTHERS.map((name) => [`read ${name}`, () => fs.readFileSync(join(folder, name))]))
})

/** Plants files in the copy, as far as that is possible. The user's state says whether they arrive. */
export const plantState = (folder: string): void => {
  const plants: ReadonlyArray<() => void> = [
    () => fs.writeFileSync(join(folder, "config.toml"), "x"),
    () => fs.writeFileSync(join(folder, "history.jsonl"), "x"),
    () => fs.writeFileSync(join(folder, ".env"), "x"),
    () => fs.mkdirSync(join(folder, "plugins")),
    () => fs.writeFileSync(join(folder, "plugins", "planted.js"), "x"),
    () => fs.symlinkSync("/etc/passwd", join(folder, "conversations")),
    () => fs.linkSync(join(folder, "config.toml"), join(folder, "second.toml"))
  ]
  for (const plant of plants) {
    try {
      plant()
    } catch {
      // The next one.
    }
  }
}

export interface WriteTarget {
  /** A folder that the program may not write, and a file in it. */
  readonly folder: string
  readonly file: string
  /** A folder that the program may write. Each target has its own. */
  readonly writable: string
}

/** Makes the file again that an earlier attempt removed: otherwise the next one would fail for that reason. */
const makeAgain = (file: string): void => {
  try {
    if (!fs.existsSync(file)) fs.writeFileSync(file, "kept")
  } catch {
    // It is as it should be.
  }
}

/** Changes of a file and its folder. None may succeed. */
export const writeAttempts = (target: WriteTarget): Attempts =>
  Object.fromEntries(
    Object.entries(changesOf(target)).map(([name, change]) => [
      name,
      () => {
        makeAgain(target.file)
        return change()
      }
    ])
  )

const changesOf = ({ file, folder, writable }: WriteTarget): Attempts => {
  const place = (name: string) => join(writable, name)
  return {
    create: () => fs.writeFileSync(join(folder, "made.txt"), "x"),
    append: () => fs.appendFileSync(file, "x"),
    truncate: () => fs.truncateSync(file, 0),
    chmod: () => fs.chmodSync(file, 0o777),
    chown: () => fs.chownSync(file, 1, 1),
    utimes: () => fs.utimesSync(file, 1, 1),
    unlink: () => fs.unlinkSync(file),
    "rename out": () => fs.renameSync(file, place("taken")),
    "rename in": () => {
      fs.writeFileSync(place("given"), "x")
      fs.renameSync(place("given"), file)
    },
    "hard link": () => fs.linkSync(file, place("linked")),
    "through a link": () => {
      fs.symlinkSync(file, place("link"))
      fs.writeFileSync(place("link"), "x")
    },
    "through the root of this process": () => fs.writeFileSync(`/proc/self/root${file}`, "x"),
    "through the root of process 1": () => fs.writeFileSync(`/proc/1/root${file}`, "x"),
    "through the folder of process 1": () => fs.writeFileSync(`/proc/1/cwd/../..${file}`, "x"),
    "through descriptors": () => {
      const names = fs.readdirSync("/proc/self/fd").filter((name) => Number(name) > 2)
      for (const name of names) {
        try {
          fs.writeFileSync(`/proc/self/fd/${name}/..${file}`, "x")
          return
        } catch {
          // The next one.
        }
      }
      throw new Error("no descriptor leads there")
    }
  }
}

/** Changes of folders of a workspace that no run makes: `.git` and `.vscode`. After one that succeeds, others may fail. */
export const protectedAttempts = (workspace: string, writable: string): Attempts => {
  const git = join(workspace, ".git")
  const place = (name: string) => join(writable, name)
  return {
    "a hook": () => fs.writeFileSync(join(git, "hooks", "post-checkout"), "x"),
    "rename of the hooks": () => fs.renameSync(join(git, "hooks"), join(git, "old")),
    "removal of the hooks": () => fs.rmdirSync(join(git, "hooks")),
    "rename of the repository": () => fs.renameSync(git, join(workspace, "git")),
    "a setting of Git": () => fs.appendFileSync(join(git, "config"), "x"),
    "another file of settings": () => {
      fs.writeFileSync(place("config"), "x")
      fs.copyFileSync(place("config"), join(git, "config.new"))
      fs.renameSync(join(git, "config.new"), join(git, "config"))
    },
    "removal of the settings": () => fs.unlinkSync(join(git, "config")),
    "a link over the settings": () => {
      fs.symlinkSync("/etc/passwd", join(git, "link"))
      fs.renameSync(join(git, "link"), join(git, "config"))
    },
    "a hard link of the settings": () => {
      fs.linkSync(join(git, "config"), join(workspace, "settings"))
      fs.appendFileSync(join(workspace, "settings"), "x")
    },
    "git config": () => runShell(`cd '${workspace}' && git config core.hooksPath /tmp`),
    "rules of Git": () => fs.writeFileSync(join(git, "info", "exclude"), "*"),
    "a program that settings of Git name": () => fs.writeFileSync(join(workspace, "tools", "diff.sh"), "x"),
    "rename of the folder around that program": () =>
      fs.renameSync(join(workspace, "tools"), join(workspace, "moved")),
    "a task of the editor in a package": () =>
      fs.writeFileSync(join(workspace, "packages", "a", ".vscode", "tasks.json"), "x"),
    "a task of the editor": () => fs.writeFileSync(join(workspace, ".vscode", "tasks.json"), "x"),
    "rename of the editor's folder": () =>
      fs.renameSync(join(workspace, ".vscode"), join(workspace, "vscode"))
  }
}

/** An edit of a protected folder that the probe approves. The program writes another content. */
export const APPROVED_EDIT = { file: ".zed/settings.json", content: "approved" }

/** By attempt, the file of the workspace that it changes in a copy. */
export const COPIED_FILES = {
  "settings of the editor with opened permissions": ".vscode/settings.json",
  "a task of the editor with opened permissions": ".vscode/tasks.json",
  "a link to a file of the system": ".vscode/link.json",
  "a hook with opened permissions": ".git/hooks/post-commit",
  "another content than an approval showed": APPROVED_EDIT.file,
  "a file next to an approved one": ".zed/tasks.json"
} as const

/** Changes of the copies of protected folders, which the program owns. None may reach the workspace. */
export const copyAttempts = (workspace: string): Attempts =>
  Object.fromEntries(
    Object.entries(COPIED_FILES).map(([name, file]) => [
      name,
      () => {
        const path = join(workspace, file)
        // The program owns its copies, so it may open their permissions.
        fs.chmodSync(dirname(path), 0o755)
        if (fs.existsSync(path)) fs.chmodSync(path, 0o644)
        if (file.endsWith("link.json")) fs.symlinkSync("/etc/passwd", path)
        else fs.writeFileSync(path, "x")
      }
    ])
  )
