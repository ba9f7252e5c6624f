import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Mount } from "../../src/confinement/Mount.ts"
import { repositoryMounts } from "../../src/confinement/RepositoryMounts.ts"
import { openFolder } from "../Folder.ts"

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd, stdio: "ignore" })

const repository = (): string => {
  const root = openFolder()
  git(root, "init", "-q")
  git(root, "commit", "-q", "--allow-empty", "-m", "first")
  return root
}

const kinds = (root: string, mounts: ReadonlyArray<Mount>) =>
  Object.fromEntries(mounts.map(({ kind, path }) => [path.slice(root.length + 1), kind]))

describe("repositoryMounts", () => {
  it("has none without a repository, and none for a run that cannot write", () => {
    assert.deepStrictEqual(repositoryMounts(openFolder(), true), [])
    assert.deepStrictEqual(repositoryMounts(repository(), false), [])
  })

  it("lets a run write all but hooks, settings, rules and submodules", () => {
    const root = repository()
    mkdirSync(join(root, ".git", "modules"))
    assert.deepStrictEqual(kinds(root, repositoryMounts(root, true)), {
      ".git": "write",
      ".git/objects": "write",
      ".git/objects/info": "write",
      ".git/objects/info/alternates": "read",
      ".git/hooks": "read",
      ".git/config": "read",
      ".git/info": "read",
      ".git/modules": "read"
    })
  })

  it("makes a missing folder of hooks", () => {
    const root = repository()
    rmSync(join(root, ".git", "hooks"), { recursive: true })
    assert.strictEqual(kinds(root, repositoryMounts(root, true))[".git/hooks"], "read")
    assert.isTrue(existsSync(join(root, ".git", "hooks")))
  })

  it.each<[string, (folder: string) => void]>([
    [
      "the hooks are a link",
      (folder) => {
        rmSync(join(folder, "hooks"), { recursive: true })
        symlinkSync("/etc", join(folder, "hooks"))
      }
    ],
    [
      "the settings are a link",
      (folder) => {
        renameSync(join(folder, "config"), join(folder, "other"))
        symlinkSync("other", join(folder, "config"))
      }
    ],
    ["there are no settings", (folder) => rmSync(join(folder, "config"))],
    [
      "the objects are a link",
      (folder) => {
        renameSync(join(folder, "objects"), join(folder, "other"))
        symlinkSync("other", join(folder, "objects"))
      }
    ],
    [
      "the list of further objects is a link",
      (folder) => symlinkSync("/etc/hosts", join(folder, "objects/info/alternates"))
    ],
    ["the submodules are a link", (folder) => symlinkSync("/etc", join(folder, "modules"))]
  ])("is read-only if %s", (_, change) => {
    const root = repository()
    change(join(root, ".git"))
    assert.deepStrictEqual(kinds(root, repositoryMounts(root, true)), { ".git": "read" })
  })

  it("follows no link to another repository", () => {
    const root = openFolder()
    symlinkSync(join(repository(), ".git"), join(root, ".git"))
    assert.deepStrictEqual(repositoryMounts(root, true), [])
  })

  it("lets a worktree write its own part of the repository", () => {
    const root = repository()
    const worktree = join(openFolder(), "tree")
    git(root, "worktree", "add", "-q", worktree)
    const mounts = repositoryMounts(worktree, true)
    assert.deepStrictEqual(mounts[0], { kind: "read", path: join(worktree, ".git") })
    assert.deepStrictEqual(kinds(root, mounts.slice(1)), {
      ".git": "write",
      ".git/objects": "write",
      ".git/objects/info": "write",
      ".git/objects/info/alternates": "read",
      ".git/hooks": "read",
      ".git/config": "read",
      ".git/info": "read",
      ".git/worktrees": "read",
      ".git/worktrees/tree": "write",
      ".git/worktrees/tree/commondir": "read",
      ".git/worktrees/tree/gitdir": "read"
    })
    assert.deepStrictEqual(kinds(root, repositoryMounts(worktree, false).slice(1)), { ".git": "read" })
  })

  it("does not believe a file that leads to the repository of another folder", () => {
    const root = repository()
    git(root, "worktree", "add", "-q", join(openFolder(), "tree"))
    const liar = openFolder()
    for (const target of [join(root, ".git", "worktrees", "tree"), join(root, ".git"), "/etc"]) {
      writeFileSync(join(liar, ".git"), `gitdir: ${target}\n`)
      assert.deepStrictEqual(repositoryMounts(liar, true), [{ kind: "read", path: join(liar, ".git") }])
    }
  })
})
