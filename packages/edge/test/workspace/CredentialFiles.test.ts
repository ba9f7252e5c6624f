/** Files that are never served, under any name, case, link or kind of repository. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { listFolder, previewFile } from "../../src/workspace/WorkspaceFiles.ts"
import { temporaryFolder } from "../Folder.ts"

const SECRET = "ghp_token-in-a-remote"

const tagOf = (root: string, path: string) =>
  Effect.match(previewFile(root, path), {
    onFailure: ({ _tag }) => _tag,
    onSuccess: ({ content }) => content
  })

/** All files below a folder. */
const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync(
    "git",
    ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always", ...args],
    {
      cwd,
      stdio: "ignore"
    }
  )

/** A workspace with every kind of git directory in it, each with a token in its config. */
const repositories = Effect.map(temporaryFolder, (folder) => {
  const root = join(folder, "root")
  mkdirSync(root)
  git(root, "init")
  writeFileSync(join(root, "README.md"), "shown")
  git(root, "add", ".")
  git(root, "commit", "-m", "x")
  git(root, "clone", "--bare", root, join(root, "bare"))
  git(root, "worktree", "add", join(root, "tree"))
  git(root, "init", `--separate-git-dir=${join(root, "apart")}`, join(root, "separate"))
  mkdirSync(join(root, "module"))
  git(root, "submodule", "add", join(root, "bare"), "sub")
  for (const config of [".git/config", "bare/config", "apart/config", ".git/modules/sub/config"])
    writeFileSync(join(root, config), `[remote "x"]\n\turl = https://${SECRET}@example.test/x\n`, {
      flag: "a"
    })
  return root
})

describe("holdsCredentials", () => {
  it.effect("withholds every file of every kind of git directory, and shows the work tree", () =>
    Effect.gen(function* () {
      const root = yield* repositories
      symlinkSync(join(root, ".git"), join(root, "docs"))
      symlinkSync(join(root, "apart", "config"), join(root, "notes.txt"))
      const inGit = [".git", "bare", "apart"].flatMap((name) => filesBelow(join(root, name)))
      assert.isAbove(inGit.length, 30)
      for (const file of [...inGit, join(root, "docs", "config"), join(root, "notes.txt")]) {
        const path = file.slice(root.length + 1)
        assert.strictEqual(yield* tagOf(root, path), "PermissionDenied", path)
      }
      for (const folder of [".git", "bare/refs", "apart", "docs", ".git/worktrees/tree"])
        assert.strictEqual(
          (yield* Effect.flip(listFolder(root, folder, undefined, 10)))._tag,
          "PermissionDenied"
        )
      for (const path of ["README.md", "tree/README.md", "sub/README.md"])
        assert.strictEqual(yield* tagOf(root, path), "shown", path)
      // A copy of a git directory counts by its content, not by its name.
      cpSync(join(root, "bare"), join(root, "looks", "harmless"), { recursive: true })
      assert.strictEqual(yield* tagOf(root, "looks/harmless/config"), "PermissionDenied")
      // The workspace itself may be one.
      assert.strictEqual(yield* tagOf(join(root, "bare"), "config"), "PermissionDenied")
    }).pipe(Effect.scoped)
  )

  it.effect("withholds files that hold credentials, in any folder and case, also by a link", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const names = fc.constantFrom(
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".pgpass",
        ".env",
        ".env.local",
        ".env.production",
        ".envrc",
        "id_ed25519",
        "server.key",
        ".aws/credentials",
        ".docker/config.json",
        ".ssh/config",
        ".kube/config",
        ".git/config",
        ".git"
      )
      const cased = fc
        .tuple(names, fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }))
        .map(([name, upper]) =>
          [...name].map((letter, i) => (upper[i] === true ? letter.toUpperCase() : letter)).join("")
        )
      const places = fc.array(fc.constantFrom("a", "src", "deep er"), { maxLength: 3 })
      for (const [i, [place, name]] of fc.sample(fc.tuple(places, cased), 80).entries()) {
        const path = join(String(i), ...place, name)
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), SECRET)
        symlinkSync(join(root, path), join(root, `link-${i}.txt`))
        for (const asked of [path, `./${path}`, `link-${i}.txt`])
          assert.strictEqual(yield* tagOf(root, asked), "PermissionDenied", asked)
      }
      for (const path of [
        ".env.example",
        ".gitignore",
        "environment.ts",
        "keyboard.keys.ts",
        "credentials/list.ts"
      ]) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), "shown")
        assert.strictEqual(yield* tagOf(root, path), "shown", path)
      }
      assert.isTrue(existsSync(root) && statSync(root).isDirectory())
    }).pipe(Effect.scoped)
  )
})
