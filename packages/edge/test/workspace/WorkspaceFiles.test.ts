/** Files of a workspace: what is shown, and that nothing outside ever is. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { listFolder, previewFile } from "../../src/workspace/WorkspaceFiles.ts"
import { temporaryFolder } from "../Folder.ts"

const SECRET = "what lies outside"

/** A workspace with a neighbour it must not see. */
const workspace = Effect.map(temporaryFolder, (folder) => {
  const root = join(folder, "root")
  mkdirSync(join(root, "src", "deep"), { recursive: true })
  mkdirSync(join(folder, "root-neighbour"))
  writeFileSync(join(folder, "root-neighbour", "secret.txt"), SECRET)
  writeFileSync(join(root, "README.md"), "# Hello\n")
  writeFileSync(join(root, "src", "main.ts"), "export {}\n")
  writeFileSync(join(root, "..dots"), "a name like any other")
  symlinkSync(join(root, "src"), join(root, "inside"))
  symlinkSync(join(folder, "root-neighbour"), join(root, "outside"))
  symlinkSync(join(folder, "root-neighbour", "secret.txt"), join(root, "secret.txt"))
  return { folder, root }
})

const tagOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "shown" })

describe("listFolder", () => {
  it.effect("gives the entries by name, with kinds, sizes and workspace-relative paths", () =>
    Effect.gen(function* () {
      const { root } = yield* workspace
      const top = yield* listFolder(root, "", undefined, 100)
      assert.deepStrictEqual(
        top.map(({ kind, path, size }) => [path, kind, size]),
        [
          ["..dots", "file", 21],
          ["README.md", "file", 8],
          ["inside", "symlink", undefined],
          ["outside", "symlink", undefined],
          ["secret.txt", "symlink", undefined],
          ["src", "directory", undefined]
        ]
      )
      const below = yield* listFolder(root, "src/", undefined, 100)
      assert.deepStrictEqual(
        below.map(({ path }) => path),
        ["src/deep", "src/main.ts"]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("pages without a gap or a repetition", () =>
    Effect.gen(function* () {
      const { root } = yield* workspace
      const names = Array.from({ length: 25 }, (_, i) => `f${String(i).padStart(2, "0")}`)
      for (const name of names) writeFileSync(join(root, "src", "deep", name), "")
      const found: Array<string> = []
      for (let after: string | undefined; ; after = found.at(-1)) {
        const page = yield* listFolder(root, "src/deep", after, 7)
        if (page.length === 0) break
        found.push(...page.map(({ name }) => name))
      }
      assert.deepStrictEqual(found, names)
    }).pipe(Effect.scoped)
  )

  it.effect("is not found where there is no folder", () =>
    Effect.gen(function* () {
      const { root } = yield* workspace
      assert.strictEqual(yield* tagOf(listFolder(root, "nowhere", undefined, 10)), "NotFound")
      assert.strictEqual(yield* tagOf(listFolder(root, "README.md", undefined, 10)), "NotFound")
    }).pipe(Effect.scoped)
  )
})

describe("previewFile", () => {
  it.effect("shows text as text and bytes as base64", () =>
    Effect.gen(function* () {
      const { root } = yield* workspace
      const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255])
      writeFileSync(join(root, "dot.png"), bytes)
      writeFileSync(join(root, "latin1"), Buffer.from([0xe9, 0x74, 0xe9]))
      assert.deepStrictEqual(yield* previewFile(root, "inside/main.ts"), {
        path: "inside/main.ts",
        mediaType: "text/plain",
        size: 10,
        encoding: "utf8",
        content: "export {}\n"
      })
      assert.deepStrictEqual(yield* previewFile(root, "dot.png"), {
        path: "dot.png",
        mediaType: "image/png",
        size: 6,
        encoding: "base64",
        content: bytes.toString("base64")
      })
      assert.deepInclude(yield* previewFile(root, "latin1"), {
        encoding: "base64",
        mediaType: "application/octet-stream"
      })
      assert.deepInclude(yield* previewFile(root, "..dots"), { content: "a name like any other" })
    }).pipe(Effect.scoped)
  )

  it.effect("shows the first 1 MiB and tears no character", () =>
    Effect.gen(function* () {
      const { root } = yield* workspace
      writeFileSync(join(root, "long.md"), `x${"字".repeat(400_000)}`)
      const preview = yield* previewFile(root, "long.md")
      assert.deepInclude(preview, { size: 1_200_001, encoding: "utf8", truncated: true })
      assert.strictEqual(preview.content, `x${"字".repeat(349_525)}`)
    }).pipe(Effect.scoped)
  )

  it.effect("never waits for a pipe, and shows no folder or device", () =>
    Effect.gen(function* () {
      const { root } = yield* workspace
      execFileSync("mkfifo", [join(root, "pipe")])
      for (const path of ["pipe", "src", "", "nowhere"]) {
        assert.strictEqual(yield* tagOf(previewFile(root, path)), "NotFound", path)
      }
    }).pipe(Effect.scoped)
  )
})

describe("The root", () => {
  it.effect.each([
    "../root-neighbour/secret.txt",
    "..",
    "src/../../root-neighbour/secret.txt",
    "/etc/passwd",
    "outside/secret.txt",
    "secret.txt",
    "src\\..\\..\\root-neighbour\\secret.txt",
    "C:\\secret.txt",
    "README.md\0.png"
  ])("is not left by %j", (path) =>
    Effect.gen(function* () {
      const { root } = yield* workspace
      assert.strictEqual(yield* tagOf(previewFile(root, path)), "WorkspaceOutsideAllowlist")
      assert.strictEqual(yield* tagOf(listFolder(root, path, undefined, 10)), "WorkspaceOutsideAllowlist")
    }).pipe(Effect.scoped)
  )

  it.effect("is not left through a link, wherever it leads at the moment", () =>
    Effect.gen(function* () {
      const { folder, root } = yield* workspace
      const link = join(root, "moving")
      const targets = [join(root, "README.md"), join(folder, "root-neighbour", "secret.txt")]
      for (let i = 0; i < 400; i++) {
        const fresh = `${link}.${i}`
        symlinkSync(targets[i % 2] ?? "", fresh)
        renameSync(fresh, link)
        const shown = yield* Effect.match(previewFile(root, "moving"), {
          onFailure: ({ _tag }) => _tag as string,
          onSuccess: ({ content }) => content
        })
        assert.strictEqual(shown, i % 2 === 0 ? "# Hello\n" : "WorkspaceOutsideAllowlist")
      }
    }).pipe(Effect.scoped)
  )
})
