/**
 * How every runtime is kept from a project's settings. A new adapter is held to it by its line in the registry. That the flags do what they are
 * for is shown with the real programs, by `npm run test:runtimes`.
 */
import { RunMode } from "@corral/domain/run/Run"
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FastCheck from "fast-check"
import { claudeCode } from "../src/ClaudeCode.ts"
import { codex } from "../src/Codex.ts"
import { copilot } from "../src/Copilot.ts"
import { builtIn } from "../src/Registry.ts"

const registry = builtIn({ node: "/node", scriptedProgram: "/scripted.mjs" })
/** Nothing of a project is known that they would execute. */
const knowNone = new Set(["scripted"])
const adapters = [...registry.values()].filter(({ id }) => !knowNone.has(id))

const start: RunStart = { prompt: "Do it.", mode: "ask", workspacePath: "/srv/ranch" }

/** All that a start tells its program. */
const textOf = (adapter: RuntimeAdapter, more: Partial<RunStart>): string => {
  const received = { ...start, ...more }
  return JSON.stringify([adapter.command(received), adapter.protocol(received).open])
}

/** A session is asked for over the protocol, once the agent has answered. */
const afterInitialize = (adapter: RuntimeAdapter, more: Partial<RunStart>): string => {
  const protocol = adapter.protocol({ ...start, ...more })
  const answer = { jsonrpc: "2.0", id: 0, result: { protocolVersion: 1, agentCapabilities: {} } }
  const ids = [0, 1].map((id) => `${JSON.stringify({ ...answer, id })}\n`)
  return JSON.stringify(protocol.step(new TextEncoder().encode(ids.join(""))))
}

describe.each(adapters)("$id", (adapter) => {
  const files = adapter.projectSettings?.files ?? []

  it("names the project files that it would execute, each once", () => {
    assert.isAbove(files.length, 0)
    const paths = files.map(({ path }) => path)
    assert.deepStrictEqual(paths, [...new Set(paths)])
    for (const { path, runs } of files) {
      assert.notMatch(path, /^\/|\.\.|\/$/)
      assert.notStrictEqual(runs, "")
    }
  })

  it("ignores them unless they are enabled, in every mode", () => {
    const trusts = adapter.projectSettings?.trust !== undefined
    for (const mode of RunMode.literals) {
      const ignored = { mode, projectSettings: "ignored" } as const
      const enabled = { mode, projectSettings: "enabled" } as const
      assert.strictEqual(textOf(adapter, { mode }), textOf(adapter, ignored), "absent means ignored")
      const isTold =
        textOf(adapter, ignored) !== textOf(adapter, enabled) ||
        afterInitialize(adapter, ignored) !== afterInitialize(adapter, enabled)
      const isRefused = files.every(({ unavoidable }) => unavoidable === true)
      assert.isTrue(isTold || isRefused || trusts, `${mode}: a start says it, or the Edge refuses`)
    }
  })
})

describe("Project settings", () => {
  const argsOf = (adapter: RuntimeAdapter, more: Partial<RunStart> = {}) =>
    adapter.command({ ...start, ...more }).args

  it("are not a source of settings for Claude Code, except for their deny rules", () => {
    const rules = ["Read(./.env)", 'Bash(echo "--tools")']
    const args = argsOf(claudeCode, { mode: "read_only", denyRules: rules })
    assert.deepStrictEqual(JSON.parse(args[args.indexOf("--settings") + 1] ?? ""), {
      permissions: { deny: rules }
    })
    assert.strictEqual(args[args.indexOf("--setting-sources") + 1], "user")
    assert.strictEqual(args[args.indexOf("--add-dir") + 1], start.workspacePath)
    assert.notInclude(argsOf(claudeCode), "--settings")
    assert.notInclude(argsOf(claudeCode, { projectSettings: "enabled" }), "--setting-sources")
  })

  it.effect("are those of an untrusted project for Codex, for any folder name", () =>
    Effect.sync(() =>
      FastCheck.assert(
        FastCheck.property(FastCheck.string({ unit: "grapheme-ascii" }), (name) => {
          const workspacePath = `/srv/${name}`
          const [flag, setting = ""] = argsOf(codex, { workspacePath })
          assert.strictEqual(flag, "-c")
          const key = /^projects=\{("(?:[^"\\]|\\.)*")=\{trust_level="untrusted"\}\}$/.exec(setting)?.[1]
          assert.strictEqual(JSON.parse(key ?? "null"), workspacePath)
        })
      )
    )
  )

  it("have their deny rules read only from the files that Claude Code reads", () => {
    const read = claudeCode.projectSettings?.denyRules?.read ?? (() => undefined)
    const of = (permissions: unknown) => read(JSON.stringify({ permissions, hooks: {} }))
    assert.deepStrictEqual(of({ deny: ["Read(a)", 7, "Bash(b)"], allow: ["Bash(*)"] }), [
      "Read(a)",
      "Bash(b)"
    ])
    for (const none of [undefined, null, [], { deny: "Read(a)" }, { allow: ["Read(a)"] }])
      assert.deepStrictEqual(of(none), [])
    for (const text of ["", "{", "[]", "null", '{"permissions":']) assert.isUndefined(read(text))
  })

  it("are trusted for Copilot where its own file names the folder, or one around it", () => {
    const trusts = copilot.projectSettings?.trust?.trusts ?? (() => undefined)
    const file = (...trustedFolders: ReadonlyArray<string>) => JSON.stringify({ trustedFolders })
    for (const folder of ["/srv/ranch", "/srv", "/"]) assert.isTrue(trusts(file(folder), "/srv/ranch"))
    for (const folder of ["/srv/ran", "/other", "/srv/ranch/inner"])
      assert.isFalse(trusts(file(folder), "/srv/ranch"))
  })

  it("let Copilot reach every path in full_access alone", () => {
    for (const mode of RunMode.literals) {
      const allowed = argsOf(copilot, { mode }).filter((arg) => arg.startsWith("--allow-all"))
      assert.deepStrictEqual(
        allowed,
        mode === "full_access" ? ["--allow-all-tools", "--allow-all-paths"] : []
      )
    }
  })
})
