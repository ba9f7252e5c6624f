/** What is found of a project's files, whichever of them exist. */
import type { ProjectFile, ProjectSettings } from "@corral/domain/run/ProjectSettings"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FastCheck from "fast-check"
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { ProjectFiles } from "../../src/workspace/ProjectFiles.ts"
import { effort } from "@corral/testing/time/Effort"
import { temporaryFolder } from "../Folder.ts"

const paths = [".tool/settings.json", ".tool/hooks", ".tool/agents", ".mcp.json", "tool.json", ".env"]

const read = (text: string) => (text.startsWith("deny ") ? text.slice(5).split(" ") : undefined)

const write = (file: string, text = "") => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** How a path comes to exist. */
const kinds = ["file", "folder", "link", "loose link"] as const
const put = (root: string, path: string, kind: (typeof kinds)[number]): void => {
  const at = join(root, path)
  mkdirSync(dirname(at), { recursive: true })
  if (kind === "file") writeFileSync(at, "")
  else if (kind === "folder") mkdirSync(at)
  else symlinkSync(kind === "link" ? root : "nowhere", at)
}

const emptied = (folder: string): string => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, ".git"), { recursive: true })
  return folder
}

describe("ProjectFiles", () => {
  it.effect("reports exactly the files that exist, and refuses exactly those that can't be left out", () =>
    Effect.gen(function* () {
      const root = join(yield* temporaryFolder, "workspace")
      const present = FastCheck.dictionary(FastCheck.constantFrom(...paths), FastCheck.constantFrom(...kinds))
      const unavoidable = FastCheck.subarray(paths)
      FastCheck.assert(
        FastCheck.property(present, unavoidable, FastCheck.boolean(), (there, forced, granted) => {
          emptied(root)
          for (const [path, kind] of Object.entries(there)) put(root, path, kind)
          const files = paths.map((path): ProjectFile => ({
            path,
            runs: "hooks",
            ...(forced.includes(path) ? { unavoidable: true } : {})
          }))
          const use = granted ? "enabled" : "ignored"
          const found = new ProjectFiles({ files }, root, use)
          const expected = paths.filter((path) => Object.hasOwn(there, path))
          assert.deepStrictEqual(found.report, expected.length === 0 ? undefined : { use, files: expected })
          const stopped = granted ? [] : expected.filter((path) => forced.includes(path))
          const details = found.refusal("Tool", {})?.details as { readonly files: unknown } | undefined
          assert.deepStrictEqual(details?.files, stopped.length === 0 ? undefined : stopped)
        }),
        { numRuns: 100 * effort }
      )
    }).pipe(Effect.scoped)
  )

  const prepared = Effect.map(temporaryFolder, (folder) => ({ folder, root: emptied(join(folder, "ws")) }))

  it.effect("looks up to the root of the repository, and no further", () =>
    Effect.gen(function* () {
      const { folder, root } = yield* prepared
      const inner = join(root, "packages/inner")
      mkdirSync(inner, { recursive: true })
      for (const at of [folder, root, inner]) write(join(at, ".mcp.json"))
      const files = [{ path: ".mcp.json", runs: "MCP servers" }]
      const report = new ProjectFiles({ files }, inner, "ignored").report
      assert.deepStrictEqual(report?.files, [".mcp.json", "../../.mcp.json"])
    }).pipe(Effect.scoped)
  )

  it.effect("keeps the rules that forbid, and refuses where they can't be read", () =>
    Effect.gen(function* () {
      const { root } = yield* prepared
      const file = join(root, "rules")
      const settings: ProjectSettings = { files: [], denyRules: { files: ["rules", "more"], read } }
      const look = (use: "ignored" | "enabled" = "ignored") => new ProjectFiles(settings, root, use)
      assert.isUndefined(look().refusal("Tool", {}))
      write(file, "deny a b")
      write(join(root, "more"), "deny c")
      assert.deepStrictEqual(look().denyRules, ["a", "b", "c"])
      assert.deepStrictEqual(look("enabled").denyRules, [])
      const unreadable = [
        () => write(file, "nonsense"),
        () => write(file, `deny ${"x".repeat(70_000)}`),
        () => write(file, `deny ${"x ".repeat(200_000)}`),
        () => mkdirSync(file),
        () => symlinkSync("nowhere", file)
      ]
      for (const spoil of unreadable) {
        rmSync(file, { recursive: true, force: true })
        spoil()
        assert.match(look().refusal("Tool", {})?.message ?? "", /^The rules in rules can't be read/)
        assert.isUndefined(look("enabled").refusal("Tool", {}))
      }
    }).pipe(Effect.scoped)
  )

  it.effect("puts instructions before the prompt where the runtime would not read them", () =>
    Effect.gen(function* () {
      const { root } = yield* prepared
      const settings: ProjectSettings = { files: [], instructions: ["TOOL.md", "AGENTS.md"] }
      const look = new ProjectFiles(settings, root, "ignored")
      assert.strictEqual(look.withInstructions("Do it."), "Do it.")
      write(join(root, "AGENTS.md"), "Be kind.\n")
      const prompt = look.withInstructions("Do it.")
      assert.match(prompt, /AGENTS\.md[^]*Be kind\.[^]*Do it\.$/)
      assert.strictEqual(new ProjectFiles(settings, root, "enabled").withInstructions("Do it."), "Do it.")
    }).pipe(Effect.scoped)
  )

  it.effect("refuses every file of a folder that the person trusts in the runtime itself", () =>
    Effect.gen(function* () {
      const { folder, root } = yield* prepared
      const trusts = (text: string, at: string) => text === at
      const trust = { homeVariable: "TOOL_HOME", defaultHome: ".tool", file: "trust", trusts }
      const settings: ProjectSettings = { files: [{ path: ".mcp.json", runs: "MCP servers" }], trust }
      write(join(root, ".mcp.json"))
      const refusal = (env: Record<string, string>) =>
        new ProjectFiles(settings, root, "ignored").refusal("Tool", env)?.details?.["reason"]
      assert.isUndefined(refusal({ HOME: folder }))
      write(join(folder, ".tool/trust"), "/elsewhere")
      assert.isUndefined(refusal({ HOME: folder }))
      write(join(folder, ".tool/trust"), root)
      assert.strictEqual(refusal({ HOME: folder }), "project_settings")
      write(join(folder, "own/trust"), "/elsewhere")
      assert.isUndefined(refusal({ HOME: folder, TOOL_HOME: join(folder, "own") }))
    }).pipe(Effect.scoped)
  )
})
